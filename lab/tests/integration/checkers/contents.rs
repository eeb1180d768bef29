//! The content of a key, looked up by going back through the events.

use picklock_verdicts::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

const MS: u64 = 1_000_000;

/// A key of a node.
pub(super) type Place<'a> = (usize, &'a KeyName);

/// The content of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content<'a> {
    pub(super) value: &'a str,
    /// The command that wrote it first.
    pub(super) author: Option<&'a KeyCommand>,
    /// The index of the event that wrote it first.
    pub(super) begun: usize,
    /// Whether the key was free then.
    pub(super) on_free: bool,
    pub(super) expires: bool,
}

pub(super) fn change(event: &Event) -> Option<(Place<'_>, Option<&str>, Option<i64>, &KeyChange)> {
    match &event.what {
        EventKind::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } => Some(((*node, key), value.as_deref(), *ttl_ms, why)),
        _ => None,
    }
}

pub(super) fn command(event: &Event) -> Option<&KeyCommand> {
    match change(event)?.3 {
        KeyChange::Command(command) => Some(command),
        _ => None,
    }
}

/// Returns the content of a key after the first `count` events.
pub(super) fn content<'a>(
    events: &'a [Event],
    count: usize,
    place: Place<'_>,
) -> Option<Content<'a>> {
    let here = |event: &Event| change(event).is_some_and(|change| change.0 == place);
    let index = events[..count].iter().rposition(here)?;
    let (_, value, ttl_ms, _) = change(&events[index])?;
    let (value, before) = (value?, content(events, index, place));
    let by = command(&events[index]);
    let rewrites = by.is_some_and(|by| ["SET", "GETSET"].contains(&&*by.command));
    let same_attempt = |before: &Content<'_>| match (before.author, by) {
        (Some(author), Some(by)) => (author.worker, author.op) == (by.worker, by.op),
        _ => false,
    };
    let stays =
        |before: &&Content<'_>| same_attempt(before) || (before.value == value && !rewrites);
    let expires = ttl_ms.is_some();
    Some(match before.as_ref().filter(stays) {
        Some(before) => Content {
            value,
            expires,
            ..*before
        },
        None => Content {
            value,
            author: by,
            begun: index,
            on_free: before.is_none(),
            expires,
        },
    })
}

pub(super) fn is_lock(key: &KeyName, expires: bool) -> bool {
    expires || matches!(key, KeyName::Lock(_))
}

pub(super) fn places(events: &[Event]) -> Vec<Place<'_>> {
    let mut places: Vec<Place<'_>> = events.iter().filter_map(|e| Some(change(e)?.0)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns when the content that a key had before an event expires, and whether that is early because the node's clock
/// was set forward. Counts millisecond by millisecond, on the node's clock. If the clock was set in the same nanosecond
/// in which the value was written, it counts as set afterwards, because on servers their order is unknown.
pub(super) fn expires_at_ns(events: &[Event], place: Place<'_>, before: usize) -> (u64, bool) {
    const NEVER: (u64, bool) = (u64::MAX, false);
    let here = |event: &Event| change(event).is_some_and(|change| change.0 == place);
    let Some(set) = events[..before].iter().rposition(here) else {
        return NEVER;
    };
    let Some((_, _, Some(ttl_ms), _)) = change(&events[set]) else {
        return NEVER;
    };
    let from_ms = events[set].at_ns / MS;
    let mut clock_ms = 0;
    let mut leapt = false;
    for now_ms in from_ms.. {
        if clock_ms >= ttl_ms {
            return (now_ms * MS, leapt && now_ms < from_ms + ttl_ms as u64);
        }
        let set_ns = events[set].at_ns;
        for event in events[..before].iter().filter(|it| it.at_ns >= set_ns) {
            if let EventKind::FaultBegan {
                nodes,
                clock: Some(shift),
                ..
            } = &event.what
                && event.at_ns / MS == now_ms
                && nodes.contains(&place.0)
            {
                clock_ms += shift.by_ns / MS as i64;
                leapt |= shift.by_ns > 0;
            }
        }
        if clock_ms >= ttl_ms {
            return (now_ms * MS, leapt && now_ms < from_ms + ttl_ms as u64);
        }
        clock_ms += 1;
    }
    NEVER
}
