//! The runs that are measured.

use std::collections::BTreeMap;
use std::time::Duration;

use picklock_harness::stage::Plan;
use picklock_scenarios::Scenario;

/// Lease time of all shapes.
pub const TTL: Duration = Duration::from_secs(1);

/// For how long a worker lets the lock try.
pub const WAIT: Duration = Duration::from_secs(3);

/// A little of everything: none of it ends a lease.
const LIGHT_FAULTS: &str = r#"
[[fault]]
kind = "pause-client"
when = { on = "granted", nth = 3 }
for = "20ms"

[[fault]]
kind = "delay"
when = { on = "granted", nth = 5 }
for = "100ms"
by = "5ms"
nodes = [0]

[[fault]]
kind = "drop"
when = { on = "reply", nth = 40 }
frames = 1

[[fault]]
kind = "pause-node"
when = { on = "granted", nth = 8 }
for = "30ms"
nodes = [4]
"#;

/// One kind of run.
#[derive(Debug, Clone)]
pub struct Shape {
    pub workers: usize,
    pub nodes: usize,
    pub stock: i64,
    pub section: Duration,
    pub think: Duration,
    /// Whether our side has faults.
    pub faults: bool,
}

impl Shape {
    /// The run that the design's number speaks of: workers that have something else to do between
    /// two purchases, so that some 285 commands go to the nodes.
    pub fn design() -> Self {
        Shape {
            workers: 3,
            nodes: 5,
            stock: 12,
            section: Duration::from_millis(50),
            think: Duration::from_millis(400),
            faults: true,
        }
    }

    /// The runs that are put beside turmoil's: the first is the one that the ratio is taken from.
    pub fn compared() -> Vec<Self> {
        let design = Shape::design();
        let others = [(100, 0), (10, 100), (10, 0)];
        let others = others.map(|(section_ms, think_ms)| Shape {
            section: Duration::from_millis(section_ms),
            think: Duration::from_millis(think_ms),
            ..design.clone()
        });
        [vec![design], others.to_vec()].concat()
    }

    pub fn title(&self) -> String {
        format!("{:?} / {:?}", self.section, self.think)
    }

    /// The run for one seed.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan {
            scenario: self.scenario(),
            ttl: TTL,
            nodes: self.nodes,
            keys: vec![key()],
            seed,
            options: BTreeMap::new(),
        }
    }

    fn scenario(&self) -> Scenario {
        let text = format!(
            r#"
name = "bench"
summary = "What is measured."
[topology]
nodes = {}
[workload]
workers = {}
stock = {}
ttl = "1s"
section = "{}us"
think = "{}us"
wait = "3s"
limit = "168h"
[judge]
min_grants = 5
{}"#,
            self.nodes,
            self.workers,
            self.stock,
            self.section.as_micros(),
            self.think.as_micros(),
            if self.faults { LIGHT_FAULTS } else { "" },
        );
        Scenario::parse(&text, "bench").expect("the scenario of the benchmark is valid")
    }
}

/// The one lock of all shapes.
pub fn key() -> String {
    "picklock:stock:0000".to_owned()
}
