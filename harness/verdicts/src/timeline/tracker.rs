//! The tracker: what each event means for the one attempt that it is about.
//!
//! Events after `acquire` name only worker and operation. The [`AttemptTracker`] keeps the attempts
//! that are under way, and reports each attempt together with what just happened to it, so that no
//! reader looks anything up. A worker has one attempt at a time, so finding the attempt is finding
//! the worker; a history in which a worker has several costs a scan of that worker's own.
//!
//! Events about an attempt that is over (an extension after the release, an answer after the kill)
//! change nothing that is judged, and are ignored.

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use super::attempt::{Attempt, Denial, HoldEnd, Step};
use super::fault::{forgets, spoils_clocks, stops_clients};
use super::lease_deadline::LeaseDeadline;

/// The attempts that are under way.
#[derive(Debug)]
pub struct AttemptTracker {
    workers: Vec<Vec<Attempt>>,
    /// When a node was last made to forget.
    forgot_ns: Option<u64>,
    /// True once some clock was wrong.
    clocks_spoilt: bool,
    /// The freezes that are on: which fault, and of which workers.
    freezes: Vec<(u32, Vec<usize>)>,
}

impl AttemptTracker {
    /// For a history with so many workers.
    pub fn new(workers: usize) -> Self {
        AttemptTracker {
            workers: vec![Vec::new(); workers],
            forgot_ns: None,
            clocks_spoilt: false,
            freezes: Vec::new(),
        }
    }

    /// Reads one event, and calls `see` for every step that an attempt makes by it. False if the
    /// event is about more than one attempt, or none; a reader should look at the event itself then.
    pub fn event(&mut self, event: &Event, see: impl FnMut(&Attempt, Step)) -> bool {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::WorkerDown { worker, .. } => self.down(at_ns, *worker, see),
            EventKind::FaultBegan {
                id, fault, workers, ..
            } => {
                self.fault(at_ns, fault);
                if stops_clients(fault) {
                    self.frozen(at_ns, *id, workers);
                }
            }
            EventKind::FaultEnded { id } => self.thawed(at_ns, *id),
            EventKind::KeyChanged {
                node,
                key,
                value: Some(_),
                ttl_ms,
                why: KeyChange::Command(command),
                ..
            } => {
                // What never expires beside the lock is a counter.
                let of_lock = ttl_ms.is_some() || matches!(key, KeyName::Lock(_));
                self.wrote(at_ns, *node, command, of_lock.then_some(*ttl_ms), see);
            }
            what => {
                let attempt = what.attempt();
                return attempt.is_some_and(|name| self.attempt_event(event, name, see));
            }
        }
        false
    }

    /// What happened to the attempt of this worker and number. False if it made no step.
    fn attempt_event(
        &mut self,
        event: &Event,
        name: (usize, u64),
        mut see: impl FnMut(&Attempt, Step),
    ) -> bool {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Acquire { .. } => self.asked(event, see),
            EventKind::Granted {
                fence,
                valid_ms,
                elapsed_ms,
                ..
            } => {
                let (forgot_ns, spoilt) = (self.forgot_ns, self.clocks_spoilt);
                if let Some(attempt) = self.find(name)
                    && attempt.begin_ns.is_none()
                {
                    let since_ns = attempt.acquire_ns;
                    let forgot = spoilt || forgot_ns.is_some_and(|forgot| forgot >= since_ns);
                    attempt.fence = *fence;
                    attempt.begin(at_ns, *valid_ms, *elapsed_ms, forgot);
                    see(attempt, Step::Begun);
                }
            }
            EventKind::Refused { .. } => self.denied(name, Denial::Refused, see),
            EventKind::AcquireFailed { definite, .. } => {
                let definite = *definite;
                self.denied(name, Denial::Failed { definite }, see);
            }
            EventKind::Release { .. } => {
                if let Some(attempt) = self.find(name) {
                    end(attempt, at_ns, HoldEnd::Released, &mut see);
                }
            }
            EventKind::Released {
                released,
                last_command_ns,
                ..
            } => {
                let released = Step::Answered {
                    released: *released,
                    failed: false,
                    last_command_ns: *last_command_ns,
                };
                self.answered(at_ns, name, released, see);
            }
            EventKind::ReleaseFailed { .. } => {
                let failed = Step::Answered {
                    released: None,
                    failed: true,
                    last_command_ns: None,
                };
                self.answered(at_ns, name, failed, see);
            }
            _ => return self.lease_event(event, name, see),
        }
        true
    }

    /// What the lock says about the lease of a hold. False if the event is about something else.
    fn lease_event(
        &mut self,
        event: &Event,
        name: (usize, u64),
        see: impl FnMut(&Attempt, Step),
    ) -> bool {
        let at_ns = event.at_ns;
        match event.what {
            EventKind::Extended {
                valid_ms,
                elapsed_ms,
                ..
            } => self.move_lease(at_ns, name, see, |attempt| {
                attempt.reported(at_ns, valid_ms, elapsed_ms)
            }),
            EventKind::Extend { .. } => {
                if let Some(attempt) = self.find(name) {
                    (attempt.extend_ns, attempt.extend_written_ns) = (Some(at_ns), (0, 0));
                }
            }
            EventKind::ExtendGranted {
                valid_ms,
                elapsed_ms,
                ..
            } => self.move_lease(at_ns, name, see, |attempt| {
                let deadline = attempt.deadline();
                let extended = attempt.extended(at_ns, valid_ms, elapsed_ms);
                extended.unwrap_or(deadline)
            }),
            EventKind::ExtendFailed { .. } => {
                if let Some(attempt) = self.find(name) {
                    attempt.extend_ns = None;
                }
            }
            EventKind::ExtendRefused { .. } => self.move_lease(at_ns, name, see, |attempt| {
                attempt.extend_ns = None;
                attempt.deadline().lost(at_ns)
            }),
            EventKind::Lost { .. } => {
                self.move_lease(at_ns, name, see, |attempt| attempt.deadline().lost(at_ns))
            }
            _ => return false,
        }
        true
    }

    /// The history is over: every hold that is still open ends here.
    pub fn close(&mut self, at_ns: u64, mut see: impl FnMut(&Attempt, Step)) {
        for attempt in self.workers.iter_mut().flatten() {
            end(attempt, at_ns, HoldEnd::Open, &mut see);
        }
    }

    /// The attempts that are under way, worker by worker.
    pub fn under_way(&self) -> impl Iterator<Item = &Attempt> {
        self.workers.iter().flatten()
    }

    fn asked(&mut self, event: &Event, mut see: impl FnMut(&Attempt, Step)) {
        if let Some(mut attempt) = Attempt::asked(event) {
            let mut freezes = self.freezes.iter();
            if freezes.any(|(_, workers)| workers.contains(&attempt.worker)) {
                attempt.read.frozen();
            }
            see(&attempt, Step::Asked);
            if let Some(open) = self.workers.get_mut(attempt.worker) {
                open.push(attempt);
            }
        }
    }

    fn denied(&mut self, name: (usize, u64), denial: Denial, mut see: impl FnMut(&Attempt, Step)) {
        // An attempt that has been granted the lock is no longer asking for it.
        let asking = self.find(name).is_some_and(|a| a.begin_ns.is_none());
        if asking && let Some(attempt) = self.take(name) {
            see(&attempt, Step::Denied(denial));
        }
    }

    fn move_lease(
        &mut self,
        at_ns: u64,
        name: (usize, u64),
        mut see: impl FnMut(&Attempt, Step),
        to: impl FnOnce(&mut Attempt) -> LeaseDeadline,
    ) {
        if let Some(attempt) = self.find(name)
            && attempt.begin_ns.is_some()
            && attempt.ended.is_none()
        {
            let was = attempt.deadline();
            let now = to(attempt);
            if (now.earliest_ns, now.latest_ns) != (was.earliest_ns, was.latest_ns) {
                attempt.set_deadline(at_ns, now);
                let said_ns = now.said_ns;
                see(attempt, Step::LeaseMoved { said_ns });
            }
        }
    }

    fn answered(
        &mut self,
        at_ns: u64,
        name: (usize, u64),
        answered: Step,
        mut see: impl FnMut(&Attempt, Step),
    ) {
        if let Some(mut attempt) = self.take(name) {
            end(&mut attempt, at_ns, HoldEnd::Released, &mut see);
            see(&attempt, answered);
        }
    }

    fn down(&mut self, at_ns: u64, worker: usize, mut see: impl FnMut(&Attempt, Step)) {
        let Some(open) = self.workers.get_mut(worker) else {
            return;
        };
        for mut attempt in open.drain(..) {
            end(&mut attempt, at_ns, HoldEnd::Killed, &mut see);
            see(&attempt, Step::Gone);
        }
    }

    /// A command has written the lock's value, or its expiry. A grant cannot have been reported before its
    /// first, nor an extension before its last.
    fn wrote(
        &mut self,
        at_ns: u64,
        node: usize,
        command: &KeyCommand,
        lives: Option<Option<i64>>,
        see: impl FnMut(&Attempt, Step),
    ) {
        let name = (command.worker, command.op);
        let Some(attempt) = self.find(name) else {
            return;
        };
        if let Some(ttl_ms) = lives {
            attempt.written(ttl_ms);
        }
        let written_ns = (command.went_on_ns.unwrap_or(at_ns), at_ns);
        match command.phase {
            Phase::Acquire => attempt.taken(written_ns, node, lives.is_some()),
            Phase::Extend => attempt.extend_written_ns = written_ns,
            Phase::Idle | Phase::Release => {}
        }
        if command.phase == Phase::Idle
            && let Some(deadline) = attempt.perhaps_renewed(at_ns)
        {
            self.move_lease(at_ns, name, see, |_| deadline);
        }
    }

    /// Workers are frozen: also those that are asked at this very moment.
    fn frozen(&mut self, at_ns: u64, id: u32, workers: &[usize]) {
        self.freezes.push((id, workers.to_vec()));
        for worker in workers {
            let open = self.workers.get_mut(*worker).into_iter().flatten();
            open.filter(|attempt| attempt.acquire_ns == at_ns && attempt.begin_ns.is_none())
                .for_each(|attempt| attempt.read.frozen());
        }
    }

    fn thawed(&mut self, at_ns: u64, id: u32) {
        let Some(index) = self.freezes.iter().position(|(freeze, _)| *freeze == id) else {
            return;
        };
        for worker in self.freezes.swap_remove(index).1 {
            let open = self.workers.get_mut(worker).into_iter().flatten();
            open.for_each(|attempt| attempt.read.thawed(at_ns));
        }
    }

    fn fault(&mut self, at_ns: u64, fault: &str) {
        if forgets(fault) {
            self.forgot_ns = Some(at_ns);
        }
        self.clocks_spoilt |= spoils_clocks(fault);
    }

    fn find(&mut self, (worker, op): (usize, u64)) -> Option<&mut Attempt> {
        let open = self.workers.get_mut(worker)?;
        open.iter_mut().rev().find(|attempt| attempt.op == op)
    }

    fn take(&mut self, (worker, op): (usize, u64)) -> Option<Attempt> {
        let open = self.workers.get_mut(worker)?;
        let index = open.iter().rposition(|attempt| attempt.op == op)?;
        Some(open.swap_remove(index))
    }
}

/// Ends the attempt's hold, if it has one that is open.
fn end(attempt: &mut Attempt, at_ns: u64, how: HoldEnd, see: &mut impl FnMut(&Attempt, Step)) {
    if attempt.begin_ns.is_some() && attempt.ended.is_none() {
        attempt.ended = Some((at_ns, how));
        see(attempt, Step::Ended(how));
    }
}
