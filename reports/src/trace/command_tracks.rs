//! The commands and replies of the command log as instants, with a track per worker and node.

use std::collections::BTreeMap;

use picklock_scenarios::Direction;
use serde_json::json;

use super::event::{TraceEvent, TraceWriter, track, us};
use crate::command_log::CommandLog;
use crate::escape::visible;

/// Writes the messages as tracks of the process `pid`.
pub(super) fn commands(proxy: &CommandLog, pid: u32, events: &mut TraceWriter) {
    if proxy.messages.is_empty() {
        return;
    }
    events.push(track("process_name", pid, 0, "commands".into()));
    let links = proxy.messages.iter().map(|it| ((it.worker, it.node), 0));
    let mut tracks: BTreeMap<(usize, usize), usize> = links.collect();
    for (tid, ((worker, node), place)) in tracks.iter_mut().enumerate() {
        *place = tid;
        let name = format!("client {worker}, node {node}");
        events.push(track("thread_name", pid, tid, name));
    }
    for message in &proxy.messages {
        let text = visible(&message.preview);
        let name = match message.direction {
            Direction::Request => text.split(' ').next().unwrap_or_default().to_owned(),
            Direction::Reply => "reply".to_owned(),
        };
        events.push(TraceEvent {
            name: name.into(),
            cat: "command",
            ph: 'i',
            ts: us(message.at_ns),
            dur: None,
            pid,
            tid: tracks[&(message.worker, message.node)],
            s: Some('t'),
            args: json!({
                "op": message.op,
                "text": text,
                "outcome": visible(&message.outcome),
                "forwarded_at_us": message.sent_ns.map(us),
            }),
        });
    }
}
