//! Draws random scenarios with more variety than the generator of the scenarios' crate: several locks, extensions,
//! all kinds of partitions, clock shifts in both directions, loss of keys, kills and pauses at every point. One draw
//! in four is a scenario from the catalog.

use std::fmt::Write;

use picklock_impls::{BuiltInLock, Kind, LOCKS, MUTANTS};
use picklock_scenarios::{BackendName, LockKind, Scenario, WorkloadKind, catalog};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The kinds of faults that are drawn. A kind that is listed twice is drawn twice as often.
const KINDS: [&str; 22] = [
    "pause-client",
    "pause-client",
    "crash-client",
    "delay",
    "drop",
    "hold",
    "answer",
    "cut",
    "partition",
    "pause-node",
    "crash-node",
    "crash-node",
    "failover",
    "cut-replication",
    "evict",
    "evict",
    "flush-all",
    "flush-scripts",
    "exhaust",
    "clock-jump",
    "clock-jump",
    "clock-skew",
];

/// A random source for the choices.
#[derive(Debug)]
pub struct Dice(StdRng);

impl Dice {
    /// Creates a source whose choices depend only on `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(StdRng::seed_from_u64(seed))
    }

    fn choose<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    fn below(&mut self, max: usize) -> usize {
        self.0.random_range(0..max)
    }

    /// Returns `true` with a probability of 1 in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn span(&mut self, tenths: usize) -> String {
        format!("{}ttl", self.below(tenths) as f64 / 10.0)
    }

    fn some(&mut self, count: usize) -> String {
        let mut chosen: Vec<usize> = (0..count).filter(|_| self.once_in(2)).collect();
        if chosen.is_empty() {
            chosen.push(self.below(count));
        }
        format!("{chosen:?}")
    }

    /// Draws the next lock, a scenario that suits it, and a seed.
    ///
    /// # Panics
    /// Panics if a drawn scenario is not valid.
    pub fn draw(&mut self) -> (&'static BuiltInLock, Scenario, u64) {
        // The independent judge supports neither locks with several holders nor clients with several locks.
        let all = LOCKS.iter().chain(MUTANTS);
        let locks: Vec<&'static BuiltInLock> =
            all.filter(|lock| lock.kind == Kind::Mutex).collect();
        let lock = locks[self.below(locks.len())];
        let scenario = if self.once_in(4) {
            let all = catalog::names().map(|name| catalog::named(name).expect("it is valid"));
            let mut simulated: Vec<Scenario> = all
                .filter(|scenario| scenario.runs_in(BackendName::Sim))
                .filter(|scenario| scenario.workload.kind == WorkloadKind::FlashSale)
                .filter(|scenario| scenario.workload.locks_each == 1)
                .collect();
            simulated.swap_remove(self.below(simulated.len()))
        } else {
            let text = self.scenario(lock.nodes, lock.replicas);
            Scenario::parse(&text, "drawn").unwrap_or_else(|error| panic!("{error}\n{text}"))
        };
        (lock, scenario, self.0.random_range(0..1_000_000))
    }

    /// Draws a semaphore, a read/write lock, a leader election or a job that runs at ticks, with a scenario for it and
    /// a seed. A drawn scenario that is not valid is drawn again.
    pub fn draw_of_another_kind(&mut self) -> (&'static BuiltInLock, Scenario, u64) {
        loop {
            let workloads = [
                WorkloadKind::Permits,
                WorkloadKind::ReadWrite,
                WorkloadKind::Ticks,
                WorkloadKind::Leader,
            ];
            let workload = workloads[self.below(workloads.len())];
            let kind = match workload.lock_kind() {
                LockKind::Mutex => Kind::Mutex,
                LockKind::Semaphore => Kind::Semaphore,
                LockKind::Rwlock => Kind::ReadWrite,
                LockKind::Leader => Kind::Leader,
            };
            let all = LOCKS.iter().chain(MUTANTS);
            let locks: Vec<&'static BuiltInLock> = all.filter(|lock| lock.kind == kind).collect();
            let lock = locks[self.below(locks.len())];
            let seed = self.0.random_range(0..1_000_000);
            if self.once_in(4) {
                let all = catalog::names().map(|name| catalog::named(name).expect("it is valid"));
                let mut simulated: Vec<Scenario> = all
                    .filter(|scenario| scenario.runs_in(BackendName::Sim))
                    .filter(|scenario| scenario.workload.kind == workload)
                    .collect();
                return (
                    lock,
                    simulated.swap_remove(self.below(simulated.len())),
                    seed,
                );
            }
            let text = self.scenario_of(workload, lock.nodes, lock.replicas);
            if let Ok(scenario) = Scenario::parse(&text, "drawn") {
                return (lock, scenario, seed);
            }
        }
    }

    /// Draws a scenario with this workload.
    fn scenario_of(&mut self, workload: WorkloadKind, nodes: usize, replicas: usize) -> String {
        let mut text = self.topology(replicas);
        let workers = 3 + self.below(3);
        let jobs = workload == WorkloadKind::Ticks;
        let keys = 1 + usize::from(self.once_in(4) && jobs);
        write!(
            text,
            "[workload]\nworkers = {workers}\nkeys = {keys}\nttl = \"{}\"\n\
             command_timeout = \"{}ttl\"\nlimit = \"{}ttl\"\n",
            self.choose(&["500ms", "1s", "2s"]),
            self.choose(&["0.2", "0.5", "1"]),
            14 + self.below(16),
        )
        .ok();
        let tenths = 1 + self.below(15);
        text.push_str(&match workload {
            WorkloadKind::Permits => self.permits(workers, tenths),
            WorkloadKind::ReadWrite => self.read_write(tenths),
            WorkloadKind::Ticks => self.ticks(),
            WorkloadKind::Leader | WorkloadKind::FlashSale => self.leader(),
        });
        for _ in 0..self.below(4) {
            text.push_str(&self.fault(workers, keys, nodes, replicas));
        }
        let overtakes = match workload {
            WorkloadKind::ReadWrite => format!("max_overtakes = {}\n", 4 + self.below(20)),
            _ => String::new(),
        };
        let within = self.choose(&["2ttl", "3ttl"]);
        write!(
            text,
            "[judge]\nmin_grants = 2\nprogress_within = \"{within}\"\n{overtakes}"
        )
        .ok();
        text
    }

    fn permits(&mut self, workers: usize, tenths: usize) -> String {
        let capacity = 2 + self.below(workers - 2);
        let each = self.choose(&["", "", "permits = [2, 1]\n", "permits = [1, 2, 2]\n"]);
        let extend = if self.once_in(4) {
            format!("extend = \"{:.2}ttl\"\n", tenths as f64 / 30.0)
        } else {
            String::new()
        };
        format!(
            "kind = \"permits\"\ncapacity = {capacity}\n{each}stock = {}\nsection = \"{}ttl\"\nwait = \"{}ttl\"\nthink = \"0.{}ttl\"\n{extend}",
            4 + self.below(12),
            tenths as f64 / 10.0,
            1 + self.below(5),
            self.below(5),
        )
    }

    fn read_write(&mut self, tenths: usize) -> String {
        let short = if self.once_in(4) {
            "short_lease = \"0.3ttl\"\n"
        } else {
            ""
        };
        format!(
            "kind = \"read-write\"\nwriters = {}\nupdate = \"write\"\nstock = {}\nsection = \"{}ttl\"\nwait = \"{}ttl\"\n\
             think = \"0.{}ttl\"\nreader_think = \"0.{}ttl\"\n{short}",
            1 + self.below(2),
            2 + self.below(6),
            tenths as f64 / 10.0,
            1 + self.below(5),
            self.below(9),
            self.below(9),
        )
    }

    fn ticks(&mut self) -> String {
        let missed = self.choose(&["skip", "skip", "catch-up"]);
        format!(
            "kind = \"ticks\"\nsection = \"{}ttl\"\nwait = \"{}ttl\"\nagain = \"0.2ttl\"\n[workload.schedule]\ninterval = \"{}ttl\"\n\
             ticks = {}\nclock_shift = \"0.{}ttl\"\nmissed = \"{missed}\"\n",
            self.choose(&["0.02", "0.1", "0.4", "1.2"]),
            self.choose(&["0", "0", "0.3", "1"]),
            self.choose(&["0.6", "1", "2"]),
            2 + self.below(5),
            self.below(5),
        )
    }

    fn leader(&mut self) -> String {
        let extend = if self.once_in(4) {
            "extend = \"0.4ttl\"\n"
        } else {
            ""
        };
        format!(
            "kind = \"leader\"\nupdate = \"write\"\nstock = {}\nsection = \"{}ttl\"\nact_every = \"0.{}ttl\"\nthink = \"0.{}ttl\"\n\
             wait = \"3ttl\"\n{extend}",
            8 + self.below(20),
            self.choose(&["0.8", "2", "3"]),
            1 + self.below(4),
            1 + self.below(8),
        )
    }

    fn topology(&mut self, replicas: usize) -> String {
        let persistence = self.choose(&["none", "none", "rdb", "aof-everysec", "aof-always"]);
        let replicas = replicas.max(usize::from(self.once_in(4)));
        format!(
            "name = \"drawn\"\nsummary = \"Drawn by the judge.\"\n\
             [topology]\nreplicas = {replicas}\npersistence = \"{persistence}\"\n"
        )
    }

    fn scenario(&mut self, nodes: usize, replicas: usize) -> String {
        let mut text = self.topology(replicas);
        let workers = 2 + self.below(3);
        let keys = 1 + usize::from(self.once_in(4));
        let section = 1 + self.below(22);
        write!(
            text,
            "[workload]\nworkers = {workers}\nkeys = {keys}\nstock = {}\nttl = \"{}\"\n\
             section = \"{}ttl\"\nupdate = \"{}\"\nstart = \"{}\"\nwait = \"{}ttl\"\n\
             command_timeout = \"{}ttl\"\nlimit = \"{}ttl\"\n",
            1 + self.below(6),
            self.choose(&["500ms", "1s", "1500ms", "2s"]),
            section as f64 / 10.0,
            self.choose(&["decrement", "write"]),
            self.choose(&["together", "one-first"]),
            1 + self.below(6),
            self.choose(&["0.2", "0.5", "1", "3"]),
            12 + self.below(20),
        )
        .ok();
        if self.once_in(3) {
            let extend = (section as f64 / 10.0) / (2 + self.below(3)) as f64;
            writeln!(text, "extend = \"{extend:.3}ttl\"").ok();
        }
        if self.once_in(5) {
            writeln!(
                text,
                "arrivals = \"{}/ttl\"\nduration = \"6ttl\"",
                1 + self.below(6)
            )
            .ok();
        } else if self.once_in(4) {
            writeln!(text, "think = \"0.{}ttl\"", 1 + self.below(9)).ok();
        }
        for _ in 0..self.below(4) {
            text.push_str(&self.fault(workers, keys, nodes, replicas));
        }
        let within = self.choose(&["1ttl", "2ttl", "3ttl"]);
        write!(
            text,
            "[judge]\nmin_grants = 2\nprogress_within = \"{within}\"\n"
        )
        .ok();
        text
    }

    fn trigger(&mut self, workers: usize) -> (String, bool) {
        if self.once_in(4) {
            return (format!("at = \"{}\"", self.span(40)), false);
        }
        let on = self.choose(&[
            "granted",
            "stock-read",
            "stock-changed",
            "release",
            "request",
            "reply",
            "extend",
        ]);
        let worker = if self.once_in(2) {
            format!(", worker = {}", self.below(workers))
        } else {
            String::new()
        };
        let proxy = matches!(on, "request" | "reply");
        let during = if proxy {
            let phase = self.choose(&["acquire", "acquire", "release", "extend"]);
            format!(", names_key = true, during = \"{phase}\"")
        } else {
            String::new()
        };
        let nth = 1 + self.below(3);
        let when = format!("when = {{ on = \"{on}\"{worker}{during}, nth = {nth} }}");
        (when, proxy)
    }

    fn fault(&mut self, workers: usize, keys: usize, nodes: usize, replicas: usize) -> String {
        let kind = self.choose(&KINDS);
        if replicas == 0 && matches!(kind, "failover" | "cut-replication") {
            return String::new();
        }
        let (moment, proxy) = self.trigger(workers);
        let by_event = moment.starts_with("when");
        let mut text = format!("[[fault]]\nkind = \"{kind}\"\n{moment}\noptional = true\n");
        let on_workers = matches!(kind, "pause-client" | "crash-client" | "clock-skew");
        let on_links = matches!(
            kind,
            "delay" | "drop" | "hold" | "answer" | "cut" | "partition"
        );
        let span = 1 + self.below(30);
        let lasts = format!("for = \"{}ttl\"\n", span as f64 / 10.0);
        if on_workers || on_links {
            if by_event && self.once_in(2) {
                text.push_str("workers = \"same\"\n")
            } else {
                writeln!(text, "workers = {}", self.some(workers)).unwrap_or_default()
            }
        }
        if !on_workers {
            if proxy && self.once_in(2) {
                text.push_str("nodes = \"same\"\n")
            } else {
                writeln!(text, "nodes = {}", self.some(nodes)).unwrap_or_default()
            }
        }
        match kind {
            "pause-client" | "pause-node" => text.push_str(&lasts),
            "crash-client" | "crash-node" | "exhaust" | "clock-jump" | "clock-skew"
            | "partition" | "delay" | "drop" | "hold" | "answer"
                if !self.once_in(4) || matches!(kind, "hold") =>
            {
                text.push_str(&lasts);
            }
            _ => {}
        }
        self.amount(kind, keys, &mut text);
        if matches!(kind, "delay" | "drop" | "hold" | "partition") && !self.once_in(3) {
            let direction = self.choose(&["request", "reply"]);
            writeln!(text, "direction = \"{direction}\"").unwrap_or_default();
        }
        if matches!(kind, "drop" | "hold" | "delay" | "answer") && self.once_in(2) {
            writeln!(text, "frames = {}", 1 + self.below(2)).unwrap_or_default();
        }
        text
    }

    /// Appends the fields that only some kinds have: amount, resource, error, or locks.
    fn amount(&mut self, kind: &str, keys: usize, text: &mut String) {
        match kind {
            "delay" => writeln!(text, "by = \"{}\"", self.span(20)).unwrap_or_default(),
            "clock-jump" | "clock-skew" => {
                let sign = self.choose(&["", "", "-"]);
                writeln!(
                    text,
                    "by = \"{sign}{}ttl\"",
                    (1 + self.below(30)) as f64 / 10.0
                )
                .unwrap_or_default();
            }
            "exhaust" => {
                let what = self.choose(&["memory", "connections"]);
                writeln!(text, "what = \"{what}\"").unwrap_or_default();
            }
            "answer" => {
                let error = self.choose(&["READONLY", "LOADING", "NOREPLICAS", "BUSY"]);
                writeln!(text, "error = \"{error}\"").unwrap_or_default();
            }
            "evict" if keys > 1 && self.once_in(2) => text.push_str("keys = [0]\n"),
            _ => {}
        }
    }
}
