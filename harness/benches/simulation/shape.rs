//! The measured runs.

use std::time::Duration;

use picklock_scenarios::Scenario;

/// Lease time of all shapes.
pub const TTL: Duration = Duration::from_secs(1);

/// How long a worker lets the lock retry.
pub const WAIT: Duration = Duration::from_secs(3);

/// A few faults of several kinds, each shorter than a lease.
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

/// The settings of one kind of run.
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
    /// Returns the run for the printed ratio: with the default section of scenarios, a tenth of the lease,
    /// and with think times of a lease.
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

    /// Returns the runs that are compared with turmoil's. The first is the one for the printed ratio.
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

    /// Returns our side as a scenario.
    pub fn scenario(&self) -> Scenario {
        let text = format!(
            r#"
name = "bench"
summary = "The measured run."
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

/// Returns the lock key of all shapes.
pub fn key() -> String {
    "picklock:stock:0000".to_owned()
}
