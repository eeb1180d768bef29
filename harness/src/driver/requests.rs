//! The requests of a buyer to its worker: acquire, ping, release.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{LockFeature, Phase, TriggerEvent};
use rand::RngExt;

use super::client_driver::{ClientDriver, Hold, Purchase, RequestAborted};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::clock::millis;
use crate::context::RunContext;
use crate::history::EventKind;

/// So many more times than other requests a release may wait for an answer of a node.
const RELEASE_TRIES: u32 = 4;

impl<B: Backend> ClientDriver<B> {
    /// Asks for the lock. `None`: it was refused, or the attempt failed.
    pub(super) async fn acquire(
        &mut self,
        purchase: Purchase,
    ) -> Result<Option<Hold>, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, spec) = (self.worker, &context.spec);
        let Purchase { key, intended_ns } = purchase;
        let wait = spec.scenario.workload.wait.resolve(spec.ttl());
        let op = context.next_op();
        context.backend.begin_attempt(op, key);
        let ask = RequestKind::Acquire {
            key: context.key(key),
            ttl_ms: spec.ttl_ms(),
            wait_ms: millis(wait),
        };
        self.write(EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms: spec.ttl_ms(),
            wait_ms: millis(wait),
            intended_ns,
        })?;
        self.event(TriggerEvent::Acquire, None).await;
        let giving_up = self.giving_up();
        let answer = self.ask_for(Phase::Acquire, op, ask, wait, giving_up);
        let answer = answer.await?;
        context.start_gate.open();
        self.record_applicability(&answer);
        match answer {
            Answer::Granted {
                token,
                fence,
                valid_ms,
                elapsed_ms,
            } => {
                self.write(EventKind::Granted {
                    worker,
                    op,
                    token: token.clone(),
                    fence,
                    valid_ms,
                    elapsed_ms,
                })?;
                self.must_use_nodes(op);
                self.event(TriggerEvent::Granted, None).await;
                let hold = Hold {
                    op,
                    key,
                    token,
                    fence,
                };
                return self.wanted(hold).await;
            }
            Answer::Refused => {
                self.write(EventKind::Refused { worker, op })?;
                self.release_refused(op, key).await?;
            }
            Answer::Cancelled if self.talk.has_cancelled() => {
                self.write(EventKind::Refused { worker, op })?;
            }
            Answer::Error { message, definite } => self.write(EventKind::AcquireFailed {
                worker,
                op,
                message,
                definite,
            })?,
            other => return Err(self.talk.broken_by(&context, "acquire", &other).into()),
        }
        Ok(None)
    }

    /// A lock that answers with nothing but definite errors may refuse the lease of the scenario.
    fn record_applicability(&self, answer: &Answer) {
        let (context, scenario) = (&self.context, &self.context.spec.scenario);
        let Answer::Error {
            message,
            definite: true,
        } = answer
        else {
            return context.applicability.record_other_answer();
        };
        let workers = scenario.workload.workers;
        let workers = scenario.faults.is_empty().then_some(workers);
        let applicability = &context.applicability;
        applicability.record_definite_error(self.worker, message, workers);
    }

    /// A lock that grants without a command to its nodes does not use them. Told once. Not of one that has
    /// used them before: its nodes may be out of reach.
    fn must_use_nodes(&mut self, op: u64) {
        let known = &self.context.lock_uses_nodes;
        if self.context.backend.has_sent_data(self.worker) {
            known.set(true);
        } else if !self.uses_nodes && !known.get() {
            self.context.recorder.write(EventKind::GrantWithoutCommand {
                worker: self.worker,
                op,
                nodes: self.nodes.clone(),
            });
        }
        self.uses_nodes = true;
    }

    pub(super) async fn release(&mut self, hold: Hold) -> Result<(), RequestAborted> {
        let ask = RequestKind::Release {
            key: self.context.key(hold.key),
            token: hold.token,
        };
        self.end_hold(hold.op, hold.key, ask).await
    }

    /// The section has failed. What becomes of the lock then is judged as a release is.
    pub(super) async fn fail(&mut self, hold: Hold) -> Result<(), RequestAborted> {
        let (worker, op) = (self.worker, hold.op);
        self.write(EventKind::SectionFailed { worker, op })?;
        let ask = RequestKind::SectionFailed {
            key: self.context.key(hold.key),
            token: hold.token,
        };
        self.end_hold(op, hold.key, ask).await
    }

    async fn end_hold(
        &mut self,
        op: u64,
        key: u32,
        ask: RequestKind,
    ) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, asked) = (self.worker, ask.op());
        self.write(EventKind::Release { worker, op })?;
        self.event(TriggerEvent::Release, None).await;
        // A release that fails may be tried again, and again.
        let tries = context.spec.command_timeout() * RELEASE_TRIES;
        let answer = self.ask(Phase::Release, op, ask, tries).await?;
        match answer {
            Answer::Released { released } => self.write(EventKind::Released {
                worker,
                op,
                released,
                last_command_ns: context
                    .backend
                    .last_command_ns(worker, op, Phase::Release, key),
            }),
            Answer::Error { message, definite } => self.write(EventKind::ReleaseFailed {
                worker,
                op,
                message,
                definite,
            }),
            other => Err(self.talk.broken_by(&context, asked, &other).into()),
        }
    }

    /// The client ends, and its process lives. That is written down before it is asked to: a hold must never be longer
    /// than it was. One that cannot end so is killed.
    pub(super) async fn end_client(&mut self, hold: &Hold) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let worker = self.worker;
        self.write(EventKind::WorkerDown {
            worker,
            by_fault: true,
            reason: "its thread ended, and its process lives".into(),
            ended_by: None,
        })?;
        context.live_workers.mark_down(worker, false);
        let patience = self.patience;
        let ask = RequestKind::EndClient;
        match self.talk.ask(&context, hold.op, ask, patience, None).await {
            Ok(Answer::Ended) => return Err(RequestAborted::WorkerGone),
            Ok(Answer::Error { .. }) => {
                context.applicability.does_not_offer(LockFeature::EndClient)
            }
            Ok(other) => drop(self.talk.broken_by(&context, "end-client", &other)),
            Err(_) => {}
        }
        // If it has ended, there is nothing to kill.
        context.backend.kill_worker(worker).await.ok();
        Err(RequestAborted::WorkerGone)
    }

    /// What was granted to a buyer that has given up it does not want any more.
    async fn wanted(&mut self, hold: Hold) -> Result<Option<Hold>, RequestAborted> {
        if !self.talk.has_cancelled() {
            return Ok(Some(hold));
        }
        self.release(hold).await?;
        Ok(None)
    }

    /// After how long the buyer gives up its request, if it does.
    fn giving_up(&mut self) -> Option<Duration> {
        let spec = &self.context.spec;
        let about = spec.scenario.workload.cancel?.resolve(spec.ttl());
        Some(about.mul_f64(self.rng.random_range(0.5..1.5)))
    }

    /// What a `finally` does around a request that was refused. Nothing that the lock says about it is judged, but
    /// what it does to the keys.
    async fn release_refused(&mut self, op: u64, key: u32) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        if !context.spec.scenario.workload.release_refused {
            return Ok(());
        }
        let ask = RequestKind::ReleaseUnheld {
            key: context.key(key),
        };
        let tries = context.spec.command_timeout() * RELEASE_TRIES;
        match self.ask(Phase::Release, op, ask, tries).await? {
            Answer::Released { .. } | Answer::Error { .. } => Ok(()),
            other => Err(self
                .talk
                .broken_by(&context, "release-unheld", &other)
                .into()),
        }
    }

    /// Sends a request, and waits for its answer. The links of the worker know its phase meanwhile.
    pub(super) async fn ask(
        &mut self,
        phase: Phase,
        op: u64,
        ask: RequestKind,
        wait: Duration,
    ) -> Result<Answer, RequestAborted> {
        self.ask_for(phase, op, ask, wait, None).await
    }

    async fn ask_for(
        &mut self,
        phase: Phase,
        op: u64,
        ask: RequestKind,
        wait: Duration,
        giving_up: Option<Duration>,
    ) -> Result<Answer, RequestAborted> {
        let context = Rc::clone(&self.context);
        context.backend.set_phase(self.worker, op, phase);
        let patience = wait + self.patience;
        let answer = self.talk.ask(&context, op, ask, patience, giving_up);
        let answer = answer.await?;
        if phase == Phase::Acquire && self.alive().is_ok() {
            record_idle_wait(&context, self.worker);
        }
        context.backend.set_phase(self.worker, op, Phase::Idle);
        Ok(answer)
    }

    pub(super) async fn ping(&mut self, hold: &Hold) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let patience = self.patience;
        let (talk, ask) = (&mut self.talk, RequestKind::Ping);
        let answer = talk.ask(&context, hold.op, ask, patience, None);
        match answer.await? {
            Answer::Pong => Ok(()),
            other => Err(self.talk.broken_by(&context, "ping", &other).into()),
        }
    }

    pub(super) async fn event(&self, kind: TriggerEvent, stock: Option<i64>) {
        happened(&self.context, self.worker, kind, stock).await;
    }

    /// Records an event of this worker, unless the nemesis has killed it in the meantime: then the
    /// message in the pipe came from a dead worker.
    pub(super) fn write(&self, what: EventKind) -> Result<(), RequestAborted> {
        self.alive()?;
        self.context.recorder.write(what);
        Ok(())
    }

    pub(super) fn alive(&self) -> Result<(), RequestAborted> {
        let live_workers = &self.context.live_workers;
        match live_workers.is_over(self.worker, self.incarnation) {
            true => Err(RequestAborted::WorkerGone),
            false => Ok(()),
        }
    }
}

/// Something has happened that a fault may wait for. Returns when that has struck.
pub(super) async fn happened<B>(
    context: &RunContext<B>,
    worker: usize,
    kind: TriggerEvent,
    stock: Option<i64>,
) {
    if let Some(gate) = context.triggers.happened(kind, worker, stock) {
        gate.await;
    }
}

/// Writes down for how long a worker that is asking for a lock has sent nothing that could take it, if it was
/// for longer than a lease: it slept.
pub(super) fn record_idle_wait<B: Backend>(context: &RunContext<B>, worker: usize) {
    let silence = context.backend.idle_wait(worker);
    let ttl_ns = context.spec.ttl_ms().saturating_mul(1_000_000);
    if let Some(silence) = silence
        && silence.until_ns.saturating_sub(silence.from_ns) > ttl_ns
    {
        context.recorder.write(EventKind::IdleWhileWaiting {
            worker,
            op: silence.op,
            from_ns: silence.from_ns,
            until_ns: silence.until_ns,
        });
    }
}
