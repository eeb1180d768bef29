//! The faults of the service: which frames they affect, and how.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use picklock_harness::proxy::{
    Effect, FrameBarrier, ImposedId, InterceptedFrame, Interceptor, LinkFault, Proxy,
};
use picklock_scenarios::{Direction, ServerError};
use serde::{Deserialize, Serialize};

/// Maximum number of faults at a time.
const MAX_RULES: usize = 1_000;

/// The effect of a fault on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleEffect {
    /// The frame arrives later.
    Delay,
    /// The frame never arrives, nor does what follows it in that direction of its connection.
    Drop,
    /// The frame arrives when the fault is removed.
    Hold,
    /// All connections are reset before the frame arrives.
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
    /// The command, in any case. Without it every command counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The key that the command must name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The first matching frame that is affected, from 1.
    #[serde(default = "one")]
    nth: u64,
    /// Number of frames that are affected.
    #[serde(default = "one")]
    times: u64,
    effect: RuleEffect,
    /// Duration of a delay, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    for_ms: Option<u64>,
    /// The error of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ServerError>,
}

fn one() -> u64 {
    1
}

impl Rule {
    fn problem(&self, keys: &[String]) -> Option<String> {
        if (self.effect == RuleEffect::Delay) != self.for_ms.is_some() {
            return Some("`for_ms` belongs to the effect `delay`, which requires it".to_owned());
        }
        if (self.effect == RuleEffect::Answer) != self.error.is_some() {
            return Some("`error` belongs to the effect `answer`, which requires it".to_owned());
        }
        if self.nth == 0 || self.times == 0 {
            return Some("`nth` and `times` count from 1".to_owned());
        }
        let key = self.key.as_ref().filter(|key| !keys.contains(key))?;
        Some(format!("key `{key}`: start the proxy with --key {key}"))
    }

    fn matches(&self, frame: &InterceptedFrame<'_>, keys: &[String]) -> bool {
        let is_key = |wanted: &String| {
            let named = frame.key.and_then(|key| keys.get(key as usize));
            named == Some(wanted)
        };
        self.on == frame.direction
            && self
                .command
                .as_ref()
                .is_none_or(|command| command.eq_ignore_ascii_case(frame.command))
            && self.key.as_ref().is_none_or(is_key)
    }

    /// Returns the effect on one frame, or `None` for a cut, which affects connections.
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
    #[serde(skip)]
    imposed: Vec<ImposedId>,
}

impl ActiveRule {
    /// Counts a matching frame, and returns whether it is affected.
    fn fires(&mut self) -> bool {
        self.matched += 1;
        let fires = self.matched >= self.rule.nth && self.fired < self.rule.times;
        self.fired += u64::from(fires);
        fires
    }
}

/// The reason why a fault is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// The fault makes no sense.
    Wrong(String),
    /// There are too many faults.
    TooMany,
}

/// All faults of the service.
pub struct Rules {
    keys: Vec<String>,
    is_armed: AtomicBool,
    state: Mutex<State>,
    proxy: OnceLock<Proxy>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    rules: Vec<ActiveRule>,
}

impl Rules {
    /// Creates an empty set of faults, which may name these keys.
    pub fn new(keys: Vec<String>) -> Self {
        Rules {
            keys,
            is_armed: AtomicBool::new(false),
            state: Mutex::default(),
            proxy: OnceLock::new(),
        }
    }

    /// Sets the proxy whose frames the faults affect.
    pub fn attach(&self, proxy: Proxy) {
        self.proxy.set(proxy).ok();
    }

    /// Adds a fault, and returns it with its number.
    ///
    /// # Errors
    /// Returns an error if the fault makes no sense, or if there are too many.
    pub fn add(&self, rule: Rule) -> Result<ActiveRule, Rejected> {
        if let Some(problem) = rule.problem(&self.keys) {
            return Err(Rejected::Wrong(problem));
        }
        let mut state = self.state();
        if state.rules.len() >= MAX_RULES {
            return Err(Rejected::TooMany);
        }
        state.last_id += 1;
        let active = ActiveRule {
            id: state.last_id,
            rule,
            matched: 0,
            fired: 0,
            imposed: Vec::new(),
        };
        state.rules.push(active.clone());
        self.is_armed.store(true, Ordering::Release);
        Ok(active)
    }

    /// Returns the faults in the order in which they were added.
    pub fn all(&self) -> Vec<ActiveRule> {
        self.state().rules.clone()
    }

    /// Removes the fault with this number, or all of them. Frames that they hold arrive. Returns how many were removed.
    pub fn remove(&self, id: Option<u64>) -> usize {
        let removed: Vec<ActiveRule> = {
            let mut state = self.state();
            let is_meant = |rule: &ActiveRule| id.is_none_or(|id| rule.id == id);
            let (removed, kept) = state.rules.drain(..).partition(is_meant);
            state.rules = kept;
            self.is_armed
                .store(!state.rules.is_empty(), Ordering::Release);
            removed
        };
        if let Some(proxy) = self.proxy.get() {
            let imposed = removed.iter().flat_map(|rule| &rule.imposed);
            imposed.for_each(|id| proxy.lift(*id));
        }
        removed.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Imposes the effect of a fault that has fired on one frame.
    fn impose(&self, id: u64, effect: Effect, frame: &InterceptedFrame<'_>) {
        let Some(proxy) = self.proxy.get() else {
            return;
        };
        let imposed = proxy.impose(LinkFault {
            conn: Some(frame.conn),
            direction: Some(frame.direction),
            frames: Some(1),
            ..LinkFault::everywhere(effect)
        });
        let mut state = self.state();
        if let Some(rule) = state.rules.iter_mut().find(|rule| rule.id == id) {
            rule.imposed.push(imposed);
        }
    }
}

impl Interceptor for Rules {
    fn is_armed(&self, _: usize) -> bool {
        self.is_armed.load(Ordering::Acquire)
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        // The first fault that fires affects the frame. The others count it.
        let mut fired = None;
        for rule in &mut self.state().rules {
            if rule.rule.matches(frame, &self.keys) && rule.fires() && fired.is_none() {
                fired = Some((rule.id, rule.rule.effect()));
            }
        }
        let (id, effect) = fired?;
        if let Some(effect) = effect {
            self.impose(id, effect, frame);
            return None;
        }
        let proxy = self.proxy.get()?.clone();
        Some(Box::pin(async move {
            proxy.cut(None, None);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> Rule {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn effect_without_its_field_is_rejected() {
        let rules = Rules::new(vec!["stock".to_owned()]);
        for wrong in [
            r#"{"on": "reply", "effect": "delay"}"#,
            r#"{"on": "reply", "effect": "answer"}"#,
            r#"{"on": "reply", "effect": "drop", "for_ms": 5}"#,
            r#"{"on": "reply", "effect": "drop", "nth": 0}"#,
            r#"{"on": "reply", "effect": "drop", "key": "other"}"#,
        ] {
            assert!(
                matches!(rules.add(rule(wrong)), Err(Rejected::Wrong(_))),
                "{wrong}"
            );
        }
        assert!(rules.all().is_empty());
    }

    #[test]
    fn fault_fires_from_the_nth_frame_and_as_often_as_it_may() {
        let rules = Rules::new(Vec::new());
        let json = r#"{"on": "request", "command": "set", "effect": "drop", "nth": 2, "times": 2}"#;
        let mut active = rules.add(rule(json)).unwrap();
        let fired: Vec<bool> = (0..4).map(|_| active.fires()).collect();
        assert_eq!(fired, [false, true, true, false]);
    }

    #[test]
    fn faults_are_limited_and_removed() {
        let rules = Rules::new(Vec::new());
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
