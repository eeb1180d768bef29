//! The faults of the service: which frames they affect, and how.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use picklock_harness::proxy::{
    Effect, FrameBarrier, ImposedId, InterceptedFrame, Interceptor, LinkFault, LinkId, Proxy,
};
use picklock_scenarios::{Direction, ServerError};
use serde::{Deserialize, Serialize};

/// The only link of the service.
pub const LINK: LinkId = LinkId { worker: 0, node: 0 };

/// Maximum number of faults at a time.
const MAX_RULES: usize = 1_000;

/// The effect of a fault on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleEffect {
    /// The frame arrives later.
    Delay,
    /// Neither the frame nor anything that follows it in the same direction of its connection arrives.
    Drop,
    /// The frame arrives when the fault is removed.
    Hold,
    /// The connection of the frame is reset before the frame arrives.
    Cut,
    /// The command is answered with an error. A request does not reach the server; a reply is replaced.
    Answer,
}

/// A fault as a request describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Whether the fault affects commands or replies.
    on: Direction,
    /// The command, in any case. If omitted, every command matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Text that an argument of the command must contain, such as the name of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Number of the first matching frame that is affected, counted from 1.
    #[serde(default = "default_count")]
    nth: u64,
    /// Number of frames that are affected.
    #[serde(default = "default_count")]
    times: u64,
    effect: RuleEffect,
    /// Duration of a delay, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    for_ms: Option<u64>,
    /// The error of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ServerError>,
}

fn default_count() -> u64 {
    1
}

impl Rule {
    fn problem(&self) -> Option<&'static str> {
        if (self.effect == RuleEffect::Delay) != self.for_ms.is_some() {
            return Some("`for_ms` belongs to the effect `delay`, which requires it");
        }
        if (self.effect == RuleEffect::Answer) != self.error.is_some() {
            return Some("`error` belongs to the effect `answer`, which requires it");
        }
        if self.nth == 0 || self.times == 0 {
            return Some("`nth` and `times` count from 1");
        }
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
        (is_empty(&self.command) || is_empty(&self.key))
            .then_some("`command` and `key` must not be empty; without them every command counts")
    }

    /// Returns the effect on one frame, or `None` for a cut, which affects the connection.
    fn effect(&self) -> Option<Effect> {
        match self.effect {
            RuleEffect::Delay => Some(Effect::Delay {
                by: Duration::from_millis(self.for_ms.unwrap_or_default()),
                jitter: Duration::ZERO,
            }),
            RuleEffect::Drop => Some(Effect::Drop),
            RuleEffect::Hold => Some(Effect::Hold),
            RuleEffect::Answer => self.error.map(Effect::Answer),
            RuleEffect::Cut => None,
        }
    }
}

/// A fault with its number and its state.
#[derive(Debug, Clone, Serialize)]
pub struct ActiveRule {
    id: u64,
    #[serde(flatten)]
    rule: Rule,
    /// Number of matching frames so far.
    matched: u64,
    /// Number of affected frames so far.
    fired: u64,
    /// Number of the key in the command log. Faults that name the same key share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_number: Option<u32>,
    #[serde(skip)]
    imposed: Vec<ImposedId>,
}

impl ActiveRule {
    fn matches(&self, frame: &InterceptedFrame<'_>) -> bool {
        let command = self.rule.command.as_ref();
        self.rule.on == frame.direction
            && command.is_none_or(|command| command.eq_ignore_ascii_case(frame.command))
            && (self.key_number.is_none() || self.key_number == frame.key)
    }

    /// Returns `true` if the most recent matching frame is in the affected range.
    fn may_fire(&self) -> bool {
        self.matched >= self.rule.nth && self.fired < self.rule.times
    }
}

/// The reason why a fault is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// The fault is invalid, for this reason.
    Wrong(&'static str),
    /// There are too many faults.
    TooMany,
}

/// All faults of the service.
#[derive(Default)]
pub struct Rules {
    is_armed: AtomicBool,
    state: Mutex<State>,
    proxy: OnceLock<Proxy>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    /// Number of keys that faults have named so far.
    key_count: u32,
    rules: Vec<ActiveRule>,
}

impl State {
    /// Returns the number of the key that a new fault names.
    fn key_number(&mut self, rule: &Rule) -> Option<u32> {
        rule.key.as_ref()?;
        let same = self.rules.iter().find(|active| active.rule.key == rule.key);
        if let Some(active) = same {
            return active.key_number;
        }
        self.key_count += 1;
        Some(self.key_count)
    }

    /// Returns the keys that faults name, with their numbers. The longest key comes first, because the first match
    /// counts.
    fn keys(&self) -> Vec<(u32, Vec<u8>)> {
        let named = |rule: &ActiveRule| {
            let name = rule.rule.key.as_ref()?.as_bytes().to_vec();
            Some((rule.key_number?, name))
        };
        let mut keys: Vec<_> = self.rules.iter().filter_map(named).collect();
        keys.sort_by_key(|(number, name)| (std::cmp::Reverse(name.len()), *number));
        keys.dedup();
        keys
    }
}

impl Rules {
    /// Sets the proxy whose frames the faults affect.
    pub fn attach(&self, proxy: Proxy) {
        self.proxy.set(proxy).ok();
    }

    /// Adds a fault, and returns it with its number.
    ///
    /// # Errors
    /// Returns an error if the fault is invalid, or if there are too many faults.
    pub fn add(&self, rule: Rule) -> Result<ActiveRule, Rejected> {
        if let Some(problem) = rule.problem() {
            return Err(Rejected::Wrong(problem));
        }
        let mut state = self.state();
        if state.rules.len() >= MAX_RULES {
            return Err(Rejected::TooMany);
        }
        state.last_id += 1;
        let active = ActiveRule {
            id: state.last_id,
            key_number: state.key_number(&rule),
            rule,
            matched: 0,
            fired: 0,
            imposed: Vec::new(),
        };
        state.rules.push(active.clone());
        self.publish(&state);
        Ok(active)
    }

    /// Returns the faults in the order in which they were added.
    pub fn all(&self) -> Vec<ActiveRule> {
        self.state().rules.clone()
    }

    /// Removes the fault with this number, or all faults if `id` is `None`. Frames that they hold arrive. Returns how
    /// many were removed.
    pub fn remove(&self, id: Option<u64>) -> usize {
        let removed: Vec<ActiveRule> = {
            let mut state = self.state();
            let is_meant = |rule: &ActiveRule| id.is_none_or(|id| rule.id == id);
            let (removed, kept) = state.rules.drain(..).partition(is_meant);
            state.rules = kept;
            self.publish(&state);
            removed
        };
        if let Some(proxy) = self.proxy.get() {
            let imposed = removed.iter().flat_map(|rule| &rule.imposed);
            imposed.for_each(|id| proxy.lift(*id));
        }
        removed.len()
    }

    /// Resets a connection. Its frame waits until the connection is gone.
    fn cut(&self, conn: u64) -> Option<FrameBarrier> {
        self.proxy.get()?.cut_connection(conn);
        Some(Box::pin(std::future::pending()))
    }

    /// Makes the proxy pass frames to the faults if there are any, and recognise the keys that the faults name.
    fn publish(&self, state: &State) {
        if let Some(proxy) = self.proxy.get() {
            proxy.derive_keys(LINK.node, &state.keys());
        }
        self.is_armed
            .store(!state.rules.is_empty(), Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Imposes the effect of a fault that fires on a frame. The proxy applies the effect before it passes on the next
    /// frame.
    fn impose(&self, rule: &mut ActiveRule, effect: Effect, frame: &InterceptedFrame<'_>) {
        let Some(proxy) = self.proxy.get() else {
            return;
        };
        if effect != Effect::Hold {
            rule.imposed.drain(..).for_each(|id| proxy.forget(id));
        }
        rule.imposed.push(proxy.impose(LinkFault {
            conn: Some(frame.conn),
            direction: Some(frame.direction),
            frames: Some(1),
            ..LinkFault::everywhere(effect)
        }));
    }
}

impl Interceptor for Rules {
    fn is_armed(&self, _: usize) -> bool {
        self.is_armed.load(Ordering::Acquire)
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        let mut is_affected = false;
        let mut barrier: Option<FrameBarrier> = None;
        // The oldest fault that may fire affects the frame. The other faults only count the frame.
        for rule in &mut self.state().rules {
            if !rule.matches(frame) {
                continue;
            }
            rule.matched += 1;
            if is_affected || !rule.may_fire() {
                continue;
            }
            rule.fired += 1;
            is_affected = true;
            match rule.rule.effect() {
                Some(effect) => self.impose(rule, effect, frame),
                None => barrier = self.cut(frame.conn),
            }
        }
        barrier
    }
}

#[cfg(test)]
mod tests {
    use picklock_harness::proxy::LockEffect;
    use picklock_scenarios::Phase;

    use super::*;

    fn rule(json: &str) -> Rule {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn effect_without_its_field_is_rejected() {
        let rules = Rules::default();
        for wrong in [
            r#"{"on": "reply", "effect": "delay"}"#,
            r#"{"on": "reply", "effect": "answer"}"#,
            r#"{"on": "reply", "effect": "drop", "for_ms": 5}"#,
            r#"{"on": "reply", "effect": "drop", "nth": 0}"#,
            r#"{"on": "reply", "effect": "drop", "key": ""}"#,
        ] {
            assert!(
                matches!(rules.add(rule(wrong)), Err(Rejected::Wrong(_))),
                "{wrong}"
            );
        }
        assert!(rules.all().is_empty());
    }

    fn frame(direction: Direction, key: Option<u32>) -> InterceptedFrame<'static> {
        InterceptedFrame {
            at_ns: 0,
            link: LINK,
            conn: 1,
            direction,
            command: "SET",
            is_error: false,
            key,
            op: 0,
            phase: Phase::Idle,
            lock_effect: LockEffect::None,
        }
    }

    #[test]
    fn fault_fires_from_the_nth_frame_and_as_often_as_it_may() {
        let rules = Rules::default();
        let json = r#"{"on": "request", "command": "set", "effect": "drop", "nth": 2, "times": 2}"#;
        rules.add(rule(json)).unwrap();
        let counts: Vec<_> = [Direction::Request, Direction::Reply]
            .repeat(4)
            .into_iter()
            .map(|direction| {
                rules.intercept(&frame(direction, None));
                let active = &rules.all()[0];
                (active.matched, active.fired)
            })
            .collect();
        let expected = [
            (1, 0),
            (1, 0),
            (2, 1),
            (2, 1),
            (3, 2),
            (3, 2),
            (4, 2),
            (4, 2),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn oldest_fault_affects_a_frame_and_the_others_count_it() {
        let rules = Rules::default();
        for _ in 0..2 {
            rules
                .add(rule(r#"{"on": "request", "effect": "drop"}"#))
                .unwrap();
        }
        let fired = || {
            rules
                .all()
                .iter()
                .map(|rule| rule.fired)
                .collect::<Vec<_>>()
        };
        rules.intercept(&frame(Direction::Request, None));
        assert_eq!(fired(), [1, 0]);
        rules.intercept(&frame(Direction::Request, None));
        assert_eq!(fired(), [1, 1]);
    }

    #[test]
    fn keys_have_numbers_and_the_longest_comes_first() {
        let rules = Rules::default();
        let numbers: Vec<_> = ["lock:1", "lock:12", "lock:1"]
            .map(|key| format!(r#"{{"on": "reply", "effect": "drop", "key": "{key}"}}"#))
            .map(|json| rules.add(rule(&json)).unwrap().key_number)
            .into();
        assert_eq!(numbers, [Some(1), Some(2), Some(1)]);
        let keys = rules.state().keys();
        assert_eq!(keys, [(2, b"lock:12".to_vec()), (1, b"lock:1".to_vec())]);
    }

    #[test]
    fn faults_are_limited_and_removed() {
        let rules = Rules::default();
        let drop_reply = rule(r#"{"on": "reply", "effect": "drop"}"#);
        for _ in 0..MAX_RULES {
            rules.add(drop_reply.clone()).unwrap();
        }
        assert_eq!(rules.add(drop_reply).unwrap_err(), Rejected::TooMany);
        assert!(rules.is_armed(0));
        assert_eq!(rules.remove(Some(7)), 1);
        assert_eq!(rules.remove(Some(7)), 0);
        assert_eq!(rules.remove(None), MAX_RULES - 1);
        assert!(!rules.is_armed(0));
    }
}
