//! Holders that extend their lease while they work.

use std::time::Duration;

use picklock_harness::Trial;
use picklock_harness::check::{Property, Status};
use picklock_harness::history::EventKind;
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::{Context, Grant, LOCKS, Lock, LockError, Node, find};

use picklock_harness::sim::LockFactory;

fn trial(workload: &str) -> Trial {
    let text =
        format!("name = \"extending\"\nsummary = \"Holders extend.\"\n[workload]\n{workload}");
    Trial::from_toml(&text).unwrap().seeds(0..3)
}

fn events(run: &TrialRun) -> impl Iterator<Item = &EventKind> {
    run.history.events.iter().map(|event| &event.what)
}

fn granted(run: &TrialRun) -> usize {
    events(run)
        .filter(|what| matches!(what, EventKind::ExtendGranted { .. }))
        .count()
}

/// Two sections of 1.7 leases, each with four extensions that are 0.4 leases apart.
#[test]
fn every_built_in_lock_extends_on_each_request() {
    let long = trial("workers = 2\nstock = 2\nsection = \"1.7ttl\"\nextend = \"0.4ttl\"");
    for lock in LOCKS {
        let outcome = long.run_lock(&LockFactory::built_in(lock)).unwrap();
        for property in [Property::Exclusion, Property::Lease, Property::Resource] {
            outcome.assert_held(property);
        }
        for run in outcome.runs() {
            assert_eq!(granted(run), 8, "{}", lock.name);
            assert!(!events(run).any(|what| matches!(
                what,
                EventKind::ExtendRefused { .. } | EventKind::ExtendFailed { .. }
            )));
        }
    }
}

/// Without the extensions the same work outlives its lease.
#[test]
fn holder_without_extensions_outlives_its_lease() {
    let long = trial("workers = 2\nstock = 2\nsection = \"1.7ttl\"");
    let outcome = long.run_lock(&LockFactory::built_in(find("set-nx-px").unwrap()));
    let outcome = outcome.unwrap();
    assert!(outcome.violation(Property::Exclusion).is_some());
}

#[test]
fn holder_with_refused_extension_buys_nothing() {
    let outcome = Trial::scenario("late-extend").unwrap().seeds(0..3);
    let outcome = outcome.run_lock(&LockFactory::built_in(find("set-nx-px").unwrap()));
    for run in outcome.unwrap().runs() {
        let refused = events(run).find_map(|what| match what {
            EventKind::ExtendRefused { op, .. } => Some(*op),
            _ => None,
        });
        let refused = refused.expect("its extension came too late");
        let about = |what: &&EventKind| match what {
            EventKind::StockChanged { op, .. } | EventKind::Release { op, .. } => *op == refused,
            _ => false,
        };
        let after: Vec<&EventKind> = events(run).filter(about).collect();
        assert!(
            matches!(after[..], [EventKind::Release { .. }]),
            "{after:?}"
        );
    }
}

/// A lock whose `extend` returns the given answer.
struct ExtendsAs(Node, fn() -> Result<Option<Grant>, LockError>);

impl Lock for ExtendsAs {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let mut command = redis::cmd("SET");
        command.arg(key).arg("me").arg("NX").arg("PX");
        command.arg(u64::try_from(ttl.as_millis()).unwrap());
        let taken: bool = command.query_async(&mut self.0).await?;
        Ok(taken.then(|| Grant {
            token: "me".into(),
            fence: None,
            valid_until: None,
        }))
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.1()
    }

    async fn release(&mut self, key: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(redis::Cmd::del(key).query_async(&mut self.0).await?)
    }
}

fn run_extending_as(answer: fn() -> Result<Option<Grant>, LockError>, workload: &str) -> Outcome {
    let build =
        move |nodes: Vec<Node>, _: Context| ExtendsAs(nodes.into_iter().next().unwrap(), answer);
    trial(workload).run("extending", 1, build).unwrap()
}

fn unknown_because(outcome: &Outcome, reason: &str) {
    for run in outcome.runs() {
        let verdict = &run.verdicts[&Property::Exclusion];
        assert_eq!(verdict.status, Status::Unknown);
        let story = verdict.story.join("\n");
        assert!(story.contains(reason), "{story}");
    }
}

const SHORT: &str =
    "workers = 2\nstock = 4\nsection = \"0.5ttl\"\nextend = \"0.2ttl\"\nlimit = \"4ttl\"";

fn cannot() -> Result<Option<Grant>, LockError> {
    Err(LockError::Unsupported("it never could".into()))
}

/// The section is longer than the lease, so a holder that continued would outlive its lease.
#[test]
fn lock_without_extensions_is_not_applicable() {
    let long = "workers = 2\nstock = 4\nsection = \"2.5ttl\"\nextend = \"0.5ttl\"";
    for run in run_extending_as(cannot, long).runs() {
        for (property, verdict) in &run.verdicts {
            assert_eq!(verdict.status, Status::NotApplicable, "{property}");
            let story = verdict.story.join("\n");
            let expected = "the lock cannot be extended: it never could";
            assert!(story.contains(expected), "{story}");
        }
        let requests = events(run).filter(|what| matches!(what, EventKind::Extend { .. }));
        assert_eq!(requests.count(), 1, "the run ends there");
    }
}

/// Two clients are in their sections before any extension is requested.
#[test]
fn violation_before_the_first_extension_stays_violated() {
    let text = "workers = 2\nstock = 4\nsection = \"2ttl\"\nextend = \"1.5ttl\"\nwait = \"2ttl\"";
    for run in run_extending_as(cannot, text).runs() {
        let status = |property: Property| run.verdicts[&property].status;
        assert_eq!(status(Property::Exclusion), Status::Violated);
        assert_eq!(status(Property::Lease), Status::NotApplicable);
    }
}

/// A lock that alternately extends, and reports that it cannot.
struct SometimesUnextendable(ExtendsAs, bool);

impl Lock for SometimesUnextendable {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0.acquire(key, ttl, wait).await
    }

    async fn extend(
        &mut self,
        _: &str,
        grant: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.1 = !self.1;
        if self.1 {
            Ok(Some(grant.clone()))
        } else {
            cannot()
        }
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.0.release(key, grant).await
    }
}

#[test]
fn lock_that_has_extended_stays_applicable() {
    let build = |nodes: Vec<Node>, _: Context| {
        SometimesUnextendable(ExtendsAs(nodes.into_iter().next().unwrap(), cannot), false)
    };
    for run in trial(SHORT).run("fickle", 1, build).unwrap().runs() {
        assert_eq!(run.verdicts[&Property::Exclusion].status, Status::Held);
        let failed = events(run).filter(|what| matches!(what, EventKind::ExtendFailed { .. }));
        assert!(failed.count() > 1, "the run goes on");
    }
}

#[test]
fn run_without_any_extension_is_inconclusive() {
    // The first holder is killed when it begins to work, together with all other clients.
    let text = format!(
        "{SHORT}\n[[fault]]\nkind = \"crash-client\"\nwhen = {{ on = \"stock-read\" }}\nworkers = \"all\""
    );
    let outcome = run_extending_as(|| Ok(None), &text);
    unknown_because(&outcome, "no holder got far enough to extend its lease");
}

/// The holder behaves like a program whose work ends with an exception.
#[test]
fn holder_with_failed_extension_buys_nothing() {
    let fail = || Err(LockError::Ambiguous("no answer".into()));
    for run in run_extending_as(fail, SHORT).runs() {
        let failed = events(run).filter(|what| matches!(what, EventKind::ExtendFailed { .. }));
        assert!(failed.count() > 2);
        assert!(!events(run).any(|what| matches!(what, EventKind::StockChanged { .. })));
    }
}
