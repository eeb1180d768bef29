//! Handwritten runs with a key history.

use std::sync::Arc;

use picklock_scenarios::Phase;
use picklock_verdicts::check::{Property, Verdict, judge};
use picklock_verdicts::history::{EventKind, History, KeyChange, KeyCommand, KeyName};

use crate::history_builder::HistoryBuilder;
use crate::samples::{self, Sample};

pub fn command(worker: usize, op: u64, phase: Phase, command: &str) -> KeyChange {
    KeyChange::Command(KeyCommand {
        worker,
        op,
        phase,
        command: command.into(),
        sent_ns: None,
        forwarded_at_ns: None,
        names_unread_value: false,
    })
}

pub fn changed(node: usize, value: Option<&str>, why: KeyChange) -> EventKind {
    EventKind::KeyChanged {
        node,
        key: KeyName::Lock(0),
        value: value.map(Arc::from),
        ttl_ms: value.map(|_| 1_000),
        why,
    }
}

/// Client 0 has the lock on nodes 0 to 2. Node 0 restarts empty, so client 1 gets nodes 0, 3 and 4. Client 0
/// removes the value of client 1 on node 3, and the value on node 4 expires.
pub fn eroded_quorum() -> Sample {
    let set = |worker, op| command(worker, op, Phase::Acquire, "SET");
    let del = |worker, op| command(worker, op, Phase::Release, "EVALSHA");
    let mut run = HistoryBuilder::new(3).acquire(0, 0, 1).acquire(0, 1, 2);
    for node in 0..3 {
        run = run.at(2, changed(node, Some("value-of-0"), set(0, 1)));
    }
    run = run
        .granted(4, 0, 1)
        .at(300, changed(0, None, KeyChange::Restarted));
    for node in [0, 3, 4] {
        run = run.at(310, changed(node, Some("value-of-1"), set(1, 2)));
    }
    run = run
        .granted(312, 1, 2)
        .sold(700, 0, 1, 2)
        .at(701, EventKind::Release { worker: 0, op: 1 })
        .at(702, changed(3, None, del(0, 1)));
    for node in 1..3 {
        run = run.at(702, changed(node, None, del(0, 1)));
    }
    let late = |node| changed(node, None, KeyChange::Expired);
    let history = with_key_history(
        run.sold(1_330, 1, 2, 1)
            .at(1_331, late(4))
            .at(1_331, late(0)),
    );
    let (mut record, _) = samples::calm();
    record.scenario = "quorum-erosion".into();
    record.nodes = 5;
    record.verdicts = judge(&history);
    for verdict in record.verdicts.values_mut() {
        // These tests ignore the stories of the checkers.
        verdict.story.clear();
    }
    record.verdicts.insert(Property::Progress, Verdict::held());
    (record, history)
}

fn with_key_history(run: HistoryBuilder) -> History {
    let mut history = run.done();
    history.header.key_history = true;
    history.header.nodes = 5;
    history
}

/// Text that tries every way to break out of its context.
pub const ATTACK: &str =
    "\x1b[2J</script><!--<script>\"'><img src=x onerror=alert(1)>\u{2028}\u{202e}🔓&amp;\r\n";

/// Returns the same run with malicious keys, values and commands.
pub fn hostile() -> Sample {
    let (record, mut history) = eroded_quorum();
    for event in &mut history.events {
        let EventKind::KeyChanged {
            node,
            key,
            value,
            why,
            ..
        } = &mut event.what
        else {
            continue;
        };
        // Use two keys, so that the terminal report has to name them.
        *key = KeyName::Other(format!("{ATTACK}{}", *node % 2).into());
        *value = value.as_ref().map(|_| ATTACK.into());
        if let KeyChange::Command(command) = why {
            command.command = ATTACK.into();
        }
    }
    (record, history)
}
