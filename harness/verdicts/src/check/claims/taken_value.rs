//! Values that a command of another client removed, replaced or prolonged.

use picklock_scenarios::Phase;

use crate::history::{KeyCommand, KeyName};
use crate::key_history::{
    KeyHistory, KeyUpdate, ValueSpan, is_collection, is_of_several, may_be_lock_value,
    shares_element,
};
use crate::timeline::{Hold, Timeline, names_token};

use crate::check::finding::Taking;

/// A lock value that an attempt had written, and that another client's command changed.
#[derive(Debug, Clone)]
pub(in crate::check) struct TakenValue {
    pub(in crate::check) key: KeyName,
    pub(in crate::check) node: usize,
    /// The number of the key among the keys of all nodes.
    pub(in crate::check) key_number: usize,
    /// Whether the value is a collection, which may be a queue.
    pub(in crate::check) is_collection: bool,
    /// The command that changed it.
    pub(in crate::check) by: KeyCommand,
    /// The worker that had written the value, and its attempt.
    pub(in crate::check) owner: (usize, u64),
    /// When the value was written.
    pub(in crate::check) written_ns: u64,
    /// When the command changed it.
    pub(in crate::check) at_ns: u64,
    /// The effect of the command.
    pub(in crate::check) how: Taking,
}

impl TakenValue {
    /// Returns the value that a change of a key took from another client's acquisition, or `None` if it took none. A
    /// takeover of the lock by writing does not count, because it is a question of leases.
    pub(in crate::check) fn from_update(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let is_foreign = author.worker != command.worker && author.phase == Phase::Acquire;
        if !is_foreign || !may_be_lock_value(update.key, before.expiry.is_some()) {
            return None;
        }
        let how = match update.now {
            None => Taking::Removed,
            Some(now) if update.prolongs() && !is_of_several(now.value) => Taking::Prolonged,
            Some(_) if command.phase == Phase::Acquire || !update.ends_value() => return None,
            Some(now) if shares_element(before.value, now.value) => return None,
            Some(_) => Taking::Replaced,
        };
        Some(TakenValue::new(at_ns, update, (command, author), how))
    }

    /// Returns the value that a client's command removed although an acquisition of the same client had written it, or
    /// `None` if it removed none.
    pub(in crate::check) fn removed_own(at_ns: u64, update: &KeyUpdate<'_>) -> Option<Self> {
        let command = update.command().filter(|_| update.now.is_none())?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let is_own = author.worker == command.worker && author.phase == Phase::Acquire;
        let is_lock = may_be_lock_value(update.key, before.expiry.is_some());
        let how = Taking::Removed;
        (is_own && is_lock).then(|| TakenValue::new(at_ns, update, (command, author), how))
    }

    fn new(
        at_ns: u64,
        update: &KeyUpdate<'_>,
        (command, author): (&KeyCommand, &KeyCommand),
        how: Taking,
    ) -> Self {
        TakenValue {
            key: update.key.clone(),
            node: update.node,
            key_number: update.key_number,
            is_collection: (update.before.as_ref())
                .is_some_and(|before| is_collection(before.value)),
            by: command.clone(),
            owner: (author.worker, author.op),
            written_ns: (update.before.as_ref()).map_or(at_ns, |before| before.written_ns),
            at_ns,
            how,
        }
    }

    /// Returns `true` if the value is one of several in a key, which has no expiry on the server.
    pub(in crate::check) fn is_permit(&self) -> bool {
        matches!(self.key, KeyName::Permit { .. })
    }

    /// Returns `true` if the command belongs to an attempt that was still acquiring the lock.
    pub(in crate::check) fn is_of_acquisition(&self) -> bool {
        self.by.phase == Phase::Acquire
    }
}

/// Maximum number of holds that are examined for the key in which a lock keeps its tokens.
const MAX_EXAMINED_HOLDS: usize = 20;

/// Returns the keys that are not locks but queues of waiting clients. In such a key no grant's token was stored when
/// the grant arrived, although grants had their tokens in another key.
pub(in crate::check) fn queues<'a>(
    timeline: &Timeline<'_>,
    places: impl Iterator<Item = &'a (usize, KeyName)>,
) -> Vec<&'a (usize, KeyName)> {
    let mut places: Vec<&(usize, KeyName)> = places.collect();
    places.sort_unstable();
    places.dedup();
    if places.is_empty() {
        return places;
    }
    let key_history = KeyHistory::from_history(timeline.history());
    let holds = timeline.holds();
    places.retain(|(node, key)| {
        let (own, others): (Vec<&ValueSpan>, Vec<&ValueSpan>) = (key_history.spans.iter())
            .filter(|span| span.node == *node)
            .partition(|span| span.key == *key);
        let mut examined = holds.iter().take(MAX_EXAMINED_HOLDS);
        let is_elsewhere = |hold: &Hold| others.iter().any(|span| names(span, hold));
        examined.any(is_elsewhere) && !holds.iter().any(|hold| has_token(&own, hold))
    });
    places
}

/// Returns `true` if the value existed when the grant arrived, and names its token.
fn names(span: &ValueSpan, hold: &Hold) -> bool {
    span.exists_at(hold.begin_ns) && names_token(&span.value, &hold.token)
}

/// Returns `true` if one of the values of a key, in chronological order, names the token of the grant when it arrived.
fn has_token(values: &[&ValueSpan], hold: &Hold) -> bool {
    let begun = values.partition_point(|span| span.from_ns <= hold.begin_ns);
    let last = begun.checked_sub(1).and_then(|last| values.get(last));
    last.is_some_and(|span| names(span, hold))
}
