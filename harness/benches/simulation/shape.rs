//! The runs that are measured.

use std::time::Duration;

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
    /// The run that the ratio is taken from: the section that scenarios have by default, a tenth
    /// of the lease, and workers that have something else to do for a lease's time between two
    /// purchases.
    pub fn headline() -> Self {
        Shape {
            workers: 3,
            nodes: 5,
            stock: 12,
            section: TTL / 10,
            think: TTL,
            faults: true,
        }
    }

    /// The runs that are put beside turmoil's: the first is the one that the ratio is taken from.
    pub fn compared() -> Vec<Self> {
        let headline = Shape::headline();
        let others = [(50, 400), (100, 0), (10, 0)];
        let others = others.map(|(section_ms, think_ms)| Shape {
            section: Duration::from_millis(section_ms),
            think: Duration::from_millis(think_ms),
            ..headline.clone()
        });
        [vec![headline], others.to_vec()].concat()
    }

    pub fn title(&self) -> String {
        format!("{:?} / {:?}", self.section, self.think)
    }

    /// Our side, as a scenario.
    pub fn scenario(&self) -> Scenario {
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
