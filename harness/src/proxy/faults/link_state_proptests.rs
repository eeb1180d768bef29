//! Property tests: the state machine of a link agrees with a naive model of the faults.

use std::sync::Arc;
use std::time::Duration;

use picklock_scenarios::Direction;
use proptest::prelude::*;

use crate::proxy::LinkId;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::faults::fault::{Effect, ImposedId, LinkFault};
use crate::proxy::faults::fault_rules::FrameDecision;
use crate::proxy::faults::imposed_faults::ImposedFaults;
use crate::proxy::faults::link_state::{LinkState, Step};

const LINK: LinkId = LinkId { worker: 0, node: 0 };

/// One step of a test.
#[derive(Debug, Clone)]
enum Input {
    /// A frame arrives. The value states whether it is RESP.
    Frame(bool),
    Impose(Effect, Option<u32>),
    /// Lifts the n-th imposed fault, modulo their number.
    Lift(usize),
    /// Time passes, in nanoseconds.
    Pass(u64),
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let delay = |by| Effect::Delay {
        by: Duration::from_nanos(by),
        jitter: Duration::ZERO,
    };
    let effect = prop_oneof![
        (1..20_u64).prop_map(delay),
        Just(Effect::Drop),
        Just(Effect::Hold),
        Just(Effect::Partition),
    ];
    let input = prop_oneof![
        4 => any::<bool>().prop_map(Input::Frame),
        2 => (effect, prop::option::of(0..3_u32)).prop_map(|(effect, frames)| {
            Input::Impose(effect, frames)
        }),
        2 => any::<usize>().prop_map(Input::Lift),
        3 => (0..15_u64).prop_map(Input::Pass),
    ];
    prop::collection::vec(input, 0..40)
}

/// A fault in the oracle.
struct Fault {
    effect: Effect,
    frames_left: Option<u32>,
    lifted: bool,
    affected: u64,
}

impl Fault {
    fn try_affect(&mut self) -> bool {
        let affects = !self.lifted && self.frames_left != Some(0);
        if affects {
            self.frames_left = self.frames_left.map(|left| left - 1);
            self.affected += 1;
        }
        affects
    }
}

/// A waiting frame in the oracle.
struct Frame {
    number: usize,
    /// When the delay of the frame itself ends.
    due_ns: u64,
    held_by: Vec<usize>,
    outcome: FrameOutcome,
    /// Whether the partition that stopped the frame has counted it.
    counted: bool,
}

/// The fate of a frame: its number, the time, and the outcome.
type Ended = (usize, u64, FrameOutcome);

/// A naive model of the faults, without the shortcuts of the state machine.
#[derive(Default)]
struct Oracle {
    faults: Vec<Fault>,
    waiting: Vec<Frame>,
    ended: Vec<Ended>,
    /// The latest time at which any delay so far ends.
    latest_ns: u64,
    /// Whether a frame was dropped.
    has_gap: bool,
}

impl Oracle {
    fn frame(&mut self, number: usize, is_message: bool, now_ns: u64) {
        let (mut due_ns, mut held_by) = (now_ns, Vec::new());
        for (index, fault) in self.faults.iter_mut().enumerate() {
            let applies = fault.effect != Effect::Partition
                && (is_message || fault.effect != Effect::Drop)
                && fault.try_affect();
            match fault.effect {
                _ if !applies => {}
                Effect::Drop => {
                    self.has_gap = true;
                    self.ended.push((number, now_ns, FrameOutcome::Dropped));
                    return;
                }
                Effect::Delay { by, .. } => due_ns += u64::try_from(by.as_nanos()).unwrap(),
                Effect::Hold => held_by.push(index),
                Effect::Answer(_) | Effect::Partition => {}
            }
        }
        if self.has_gap {
            return self.ended.push((number, now_ns, FrameOutcome::Cut));
        }
        let outcome = if !held_by.is_empty() {
            FrameOutcome::Held
        } else if due_ns > now_ns {
            FrameOutcome::Delayed
        } else {
            FrameOutcome::Forwarded
        };
        self.latest_ns = self.latest_ns.max(due_ns);
        self.waiting.push(Frame {
            number,
            due_ns: self.latest_ns,
            held_by,
            outcome,
            counted: false,
        });
    }

    /// Sends every frame that can be sent now.
    fn settle(&mut self, now_ns: u64) {
        while let Some(first) = self.waiting.first_mut() {
            let is_partition =
                |fault: &&mut Fault| !fault.lifted && fault.effect == Effect::Partition;
            let mut partitions = self.faults.iter_mut().filter(is_partition).peekable();
            if partitions.peek().is_some() {
                if !first.counted {
                    partitions.for_each(|fault| fault.affected += 1);
                }
                (first.counted, first.outcome) = (true, FrameOutcome::Held);
                return;
            }
            first.counted = false;
            if first
                .held_by
                .iter()
                .any(|index| !self.faults[*index].lifted)
            {
                return;
            }
            if first.due_ns > now_ns {
                return;
            }
            let first = self.waiting.remove(0);
            self.ended.push((first.number, now_ns, first.outcome));
        }
    }

    /// Returns the time at which the first frame can be forwarded, or `None` if the frame waits for another event.
    fn next_ns(&self) -> Option<u64> {
        let first = self.waiting.first()?;
        let held = first
            .held_by
            .iter()
            .any(|index| !self.faults[*index].lifted);
        (!first.counted && !held).then_some(first.due_ns)
    }
}

/// The state machine, and the recorded fates of its frames.
struct Machine {
    table: Arc<ImposedFaults>,
    link: LinkState<usize>,
    imposed: Vec<ImposedId>,
    ended: Vec<Ended>,
}

impl Machine {
    fn new() -> Self {
        let table = Arc::new(ImposedFaults::new());
        let rules = table.rules(LINK, 0, Some(Direction::Request), 0);
        Machine {
            table,
            link: LinkState::new(rules),
            imposed: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn frame(&mut self, number: usize, is_message: bool, now_ns: u64) {
        if self.link.is_clear(now_ns) {
            self.ended.push((number, now_ns, FrameOutcome::Forwarded));
            return;
        }
        match self.link.decide(is_message.then_some("SET")) {
            FrameDecision::Drop => self.ended.push((number, now_ns, FrameOutcome::Dropped)),
            FrameDecision::Reset => self.ended.push((number, now_ns, FrameOutcome::Cut)),
            FrameDecision::Pass(conditions) => self.link.admit(number, now_ns, conditions),
        }
    }

    /// Sends every frame that can be sent now. Returns the time of the next call, or `None` if the first frame waits
    /// for another event.
    fn settle(&mut self, now_ns: u64) -> Option<u64> {
        loop {
            match self.link.step(now_ns) {
                Step::Empty | Step::WaitForFaults => return None,
                Step::WaitUntil(due_ns) => return Some(due_ns),
                Step::Send => {
                    let sent = self.link.pop().unwrap();
                    self.ended.push((sent.frame, now_ns, sent.outcome));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn state_machine_agrees_with_the_oracle(inputs in inputs()) {
        let (mut oracle, mut machine) = (Oracle::default(), Machine::new());
        let mut now_ns = 0;
        for (number, input) in inputs.into_iter().enumerate() {
            match input {
                Input::Frame(is_message) => {
                    oracle.frame(number, is_message, now_ns);
                    machine.frame(number, is_message, now_ns);
                }
                Input::Impose(effect, frames) => {
                    let fault = LinkFault { frames, ..LinkFault::everywhere(effect) };
                    machine.imposed.push(machine.table.impose(fault));
                    let (frames_left, lifted, affected) = (frames, false, 0);
                    oracle.faults.push(Fault { effect, frames_left, lifted, affected });
                }
                Input::Lift(which) if !oracle.faults.is_empty() => {
                    let which = which % oracle.faults.len();
                    oracle.faults[which].lifted = true;
                    let _ = machine.table.lift(machine.imposed[which]);
                }
                Input::Lift(_) => {}
                Input::Pass(time_ns) => now_ns += time_ns,
            }
            oracle.settle(now_ns);
            let next_ns = machine.settle(now_ns);
            prop_assert_eq!(next_ns, oracle.next_ns());
            prop_assert_eq!(&machine.ended, &oracle.ended);
            let mut imposed = machine.imposed.iter().zip(&oracle.faults);
            prop_assert!(imposed
                .all(|(id, fault)| machine.table.affected_frames(*id) == fault.affected));
        }
    }

    #[test]
    fn jitter_never_reorders_and_stays_in_its_range(
        waits in prop::collection::vec((0..20_u64, 0..10_u64, 0..50_u64), 1..20),
    ) {
        let (mut machine, mut now_ns) = (Machine::new(), 0);
        // The range of possible due times of each frame, which is never earlier than the range of the frame before.
        let (mut from_ns, mut to_ns, mut ranges) = (0, 0, Vec::new());
        for (number, (wait_ns, by_ns, jitter_ns)) in waits.into_iter().enumerate() {
            now_ns += wait_ns;
            let by = Duration::from_nanos(by_ns + 1);
            let jitter = Duration::from_nanos(jitter_ns);
            let id = machine.table.impose(LinkFault::everywhere(Effect::Delay { by, jitter }));
            machine.frame(number, true, now_ns);
            let _ = machine.table.lift(id);
            from_ns = (now_ns + by_ns + 1).max(from_ns);
            to_ns = (now_ns + by_ns + 1 + jitter_ns).max(to_ns);
            ranges.push((from_ns, to_ns));
        }
        let all_arrived_ns = now_ns;
        while let Some(due_ns) = machine.settle(now_ns) {
            now_ns = due_ns;
        }
        prop_assert_eq!(machine.ended.len(), ranges.len());
        for (index, (number, at_ns, outcome)) in machine.ended.into_iter().enumerate() {
            let (from_ns, to_ns) = ranges[index];
            prop_assert_eq!((number, outcome), (index, FrameOutcome::Delayed));
            prop_assert!((from_ns.max(all_arrived_ns)..=to_ns.max(all_arrived_ns)).contains(&at_ns));
        }
    }
}
