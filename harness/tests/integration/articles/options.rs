//! Options reach the lock, and invalid ones are rejected.

use picklock_harness::check::Property;
use picklock_harness::history::EventKind;
use picklock_harness::sim::LockFactory;
use picklock_harness::{Trial, TrialError};
use picklock_impls::{
    Context, Grant, LOCKS, LeaseDuration, Lock, LockError, MUTANTS, Node, OptionKind, OptionSpec,
    OptionValue,
};

use super::{lock, run, scenario};

fn refusal(trial: Trial, name: &str) -> String {
    let error = trial.run_lock(&lock(name)).unwrap_err();
    assert!(matches!(error, TrialError::Option { .. }));
    error.to_string()
}

#[test]
fn invalid_options_are_named() {
    let calm = || Trial::scenario("calm").unwrap();
    insta::assert_snapshot!(
        [
            refusal(calm().option("retry_dely", "1s"), "set-nx-px"),
            refusal(calm().option("replicas", "1"), "set-nx-px"),
            refusal(calm().option("retry_delay", "1s"), "no-lock"),
            refusal(calm().option("retry_delay", "0s"), "set-nx-px"),
            refusal(calm().option("retry_delay", "soon"), "set-nx-px"),
            refusal(calm().option("retry_jitter", "-1ms"), "set-nx-px"),
            refusal(calm().option("drift_factor", "2"), "redlock"),
            refusal(calm().option("replicas", "many"), "replicated"),
        ]
        .join("\n"),
        @r"
    option retry_dely: no such option; the lock has retry_delay, retry_jitter; did you mean `retry_delay`?
    option replicas: no such option; the lock has retry_delay, retry_jitter
    option retry_delay: no such option; the lock has none
    option retry_delay: `0s` is not a duration above zero, such as 500ms, 2s or 0.5ttl (times the lease)
    option retry_delay: `soon` is not a duration above zero, such as 500ms, 2s or 0.5ttl (times the lease)
    option retry_jitter: `-1ms` is not a duration such as 500ms, 2s or 0.5ttl (times the lease)
    option drift_factor: `2` is not a number from 0 to 1
    option replicas: `many` is not a whole number from 0 to 8
    "
    );
}

/// Every default is a valid value of the option.
#[test]
fn every_default_is_valid() {
    for lock in LOCKS.iter().chain(MUTANTS) {
        for spec in lock.options {
            let text = spec.default.to_string();
            let read = lock.read_options([(spec.name, text.as_str())]).unwrap();
            assert_eq!(read.value(spec), spec.default, "{}", lock.name);
        }
    }
}

fn renewals(trial: &Trial) -> usize {
    let outcome = run(trial, "watchdog");
    outcome.assert_held(Property::Exclusion);
    let events = outcome.runs()[0].history.events.iter();
    let renewals = events.filter(|event| matches!(event.what, EventKind::Extended { .. }));
    renewals.count()
}

#[test]
fn watchdog_renews_as_often_as_configured() {
    let job = scenario("[workload]\nworkers = 2\nstock = 2\nsection = \"2ttl\"\nwait = \"6ttl\"");
    let often = renewals(&job.clone().option("renew_every", "0.1ttl"));
    let seldom = renewals(&job.clone().option("renew_every", "900ms"));
    assert!(often > 30 && seldom < 6, "{often} and {seldom}");
    // A renewal interval longer than the lease is too long: the client receives the loss report at
    // the end of the lease, and stops.
    let late = run(&job.option("renew_every", "1.5ttl"), "watchdog");
    late.assert_held(Property::Exclusion);
    let mut events = late.runs()[0].history.events.iter();
    assert!(events.any(|event| matches!(event.what, EventKind::Lost { .. })));
}

/// A user's lock with options.
struct LockWithOptions(Node, u64);

const SIZE: OptionSpec = OptionSpec {
    name: "size",
    meaning: "how big",
    kind: OptionKind::Whole(1, 9),
    default: OptionValue::Whole(3),
};
const PAUSE: OptionSpec = OptionSpec {
    name: "pause",
    meaning: "how long",
    kind: OptionKind::Duration { zero: true },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.5)),
};

impl Lock for LockWithOptions {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: std::time::Duration,
        _wait: std::time::Duration,
    ) -> Result<Option<Grant>, LockError> {
        let mut command = redis::cmd("SET");
        command.arg(key).arg("me").arg("NX").arg("PX");
        let taken: bool = command
            .arg(ttl.as_millis() as u64)
            .query_async(&mut self.0)
            .await?;
        Ok(taken.then(|| Grant {
            token: "me".into(),
            fence: Some(self.1),
            valid_until: None,
        }))
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: std::time::Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(None)
    }

    async fn release(&mut self, key: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(redis::Cmd::del(key).query_async(&mut self.0).await?)
    }
}

#[test]
fn user_lock_can_have_options() {
    let build = |nodes: Vec<Node>, context: Context| {
        LockWithOptions(
            nodes.into_iter().next().unwrap(),
            context.options.whole(&SIZE),
        )
    };
    let lock = LockFactory::new("lock", 1, build).with_options(&[&SIZE, &PAUSE]);
    let fence = |trial: Trial| {
        let outcome = trial.seeds([1]).run_lock(&lock).unwrap();
        let mut events = outcome.runs()[0].history.events.clone().into_iter();
        events.find_map(|event| match event.what {
            EventKind::Granted { fence, .. } => fence,
            _ => None,
        })
    };
    let calm = Trial::scenario("calm").unwrap();
    assert_eq!(fence(calm.clone()), Some(3));
    assert_eq!(fence(calm.option("size", "7")), Some(7));
}
