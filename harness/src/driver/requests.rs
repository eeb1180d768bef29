//! The requests of a client to its worker: acquire, ping, release.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{LockFeature, Phase, TriggerEvent};
use rand::RngExt;

use super::client_driver::{ClientDriver, Hold, Purchase, RequestAborted};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::clock::{millis, nanos};
use crate::context::RunContext;
use crate::history::{EndReason, EventKind};

/// Factor by which a release may wait longer for a node than other requests, because it may retry.
const RELEASE_TIMEOUT_FACTOR: u32 = 4;

/// Number of leases for which a lock may answer each request with an error before the run ends.
const LEASES_OF_ERRORS: u32 = 3;

impl<B: Backend> ClientDriver<B> {
    /// Requests the lock. Returns `None` if it was refused or the attempt failed.
    pub(super) async fn acquire(
        &mut self,
        purchase: Purchase,
    ) -> Result<Option<Hold>, RequestAborted> {
        let spec = &self.context.spec;
        let wait = spec.scenario.workload.wait.resolve(spec.ttl());
        self.acquire_within(purchase, wait).await
    }

    /// Requests the lock for at most `wait`. Returns `None` if it was refused or the attempt failed.
    pub(super) async fn acquire_within(
        &mut self,
        purchase: Purchase,
        wait: Duration,
    ) -> Result<Option<Hold>, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, spec) = (self.worker, &context.spec);
        let Purchase { key, intended_ns } = purchase;
        let (ttl_ms, wait_ms) = (millis(spec.lease_of(worker)), millis(wait));
        let op = self.begin_attempt(key);
        let request = RequestKind::Acquire {
            key: context.key(key),
            ttl_ms,
            wait_ms,
            mode: spec.mode_of(worker),
            permits: spec.permits_of(worker),
        };
        self.write(EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms,
            wait_ms,
            intended_ns,
            weight: spec.scenario.workload.weight_of(worker),
        })?;
        self.event(TriggerEvent::Acquire, None).await;
        let cancel = self.cancel_after();
        let request = self.request_phase(Phase::Acquire, op, request, wait, cancel);
        let answer = request.await?;
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
                self.complete_grant(op);
                self.event(TriggerEvent::Granted, None).await;
                let hold = Hold {
                    op,
                    key,
                    token,
                    fence,
                };
                return self.release_if_cancelled(hold).await;
            }
            Answer::Refused => {
                self.write(EventKind::Refused { worker, op })?;
                self.release_refused(op, key).await?;
            }
            Answer::Cancelled if self.client.has_cancelled() => {
                self.write(EventKind::Refused { worker, op })?;
            }
            Answer::Error { message, definite } => self.write(EventKind::AcquireFailed {
                worker,
                op,
                message,
                definite,
            })?,
            other => return Err(self.client.wrong_answer(&context, "acquire", &other).into()),
        }
        Ok(None)
    }

    /// Returns the number of a new attempt to get the lock of this key.
    fn begin_attempt(&mut self, key: u32) -> u64 {
        let op = self.context.next_op();
        self.latest_op = op;
        self.context.live_workers.set_latest_op(self.worker, op);
        self.context.backend.begin_attempt(op, key);
        op
    }

    /// Records whether the answer to `acquire` was a definite error. A lock that gives only definite errors may reject
    /// the scenario's lease. A lock that gives only errors of any kind ends the run.
    fn record_applicability(&self, answer: &Answer) {
        self.end_if_nothing_is_granted(answer);
        let (context, scenario) = (&self.context, &self.context.spec.scenario);
        let Answer::Error {
            message,
            definite: true,
        } = answer
        else {
            return context.applicability.record_other_answer();
        };
        let workers_if_fault_free = scenario
            .faults
            .is_empty()
            .then_some(scenario.workload.workers);
        let applicability = &context.applicability;
        applicability.record_definite_error(self.worker, message, workers_if_fault_free);
    }

    /// Ends the run if the lock answers each request with an error, without a fault. Such a run would show nothing
    /// until its limit.
    fn end_if_nothing_is_granted(&self, answer: &Answer) {
        let context = &self.context;
        let is_error = matches!(answer, Answer::Error { .. });
        let workers = context.spec.scenario.workload.workers;
        let got_only_errors = (context.early_end).got_only_errors(self.worker, is_error, workers);
        let is_late = context.clock.now_ns() >= nanos(context.spec.ttl() * LEASES_OF_ERRORS);
        if got_only_errors && is_late && !context.recorder.has_fault_begun() {
            context.early_end.request(EndReason::OnlyErrors);
        }
    }

    /// Records what belongs to a grant, as soon as the grant is in the history.
    fn complete_grant(&mut self, op: u64) {
        self.client.record_early_events(&self.context, Some(op));
        self.check_node_use(op);
    }

    /// Records a grant of a worker that has sent no command to its nodes. This is recorded at most once per worker, and
    /// never if any client has used the nodes, because they may merely be unreachable.
    fn check_node_use(&mut self, op: u64) {
        let has_used_nodes = &self.context.lock_uses_nodes;
        if self.context.backend.has_sent_data(self.worker) {
            has_used_nodes.set(true);
        } else if !self.uses_nodes && !has_used_nodes.get() {
            self.context.recorder.write(EventKind::GrantWithoutCommand {
                worker: self.worker,
                op,
                nodes: self.nodes.clone(),
            });
        }
        self.uses_nodes = true;
    }

    pub(super) async fn release(&mut self, hold: Hold) -> Result<(), RequestAborted> {
        let request = RequestKind::Release {
            key: self.context.key(hold.key),
            token: hold.token,
        };
        self.end_hold(hold.op, hold.key, request).await
    }

    /// Fails the section. The lock's reaction is judged like a release.
    pub(super) async fn fail(&mut self, hold: Hold) -> Result<(), RequestAborted> {
        let (worker, op) = (self.worker, hold.op);
        self.write(EventKind::SectionFailed { worker, op })?;
        let request = RequestKind::SectionFailed {
            key: self.context.key(hold.key),
            token: hold.token,
        };
        self.end_hold(op, hold.key, request).await
    }

    async fn end_hold(
        &mut self,
        op: u64,
        key: u32,
        request: RequestKind,
    ) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, request_name) = (self.worker, request.name());
        self.write(EventKind::Release { worker, op })?;
        self.event(TriggerEvent::Release, None).await;
        // A lock may retry a failed release several times.
        let timeout = context.spec.command_timeout() * RELEASE_TIMEOUT_FACTOR;
        let answer = self.request(Phase::Release, op, request, timeout).await?;
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
            other => Err(self
                .client
                .wrong_answer(&context, request_name, &other)
                .into()),
        }
    }

    /// Ends the client while its process stays alive. The end is recorded before the request, so that the hold is never
    /// recorded as longer than it was. If the client cannot end in this way, its worker is killed.
    pub(super) async fn end_client(&mut self, hold: &Hold) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let worker = self.worker;
        self.write(EventKind::WorkerDown {
            worker,
            by_fault: true,
            reason: "its thread ended, but its process is alive".into(),
            ended_by: None,
        })?;
        context.live_workers.mark_down(worker, false);
        let patience = self.patience;
        let request = RequestKind::EndClient;
        match self
            .client
            .request(&context, hold.op, request, patience, None)
            .await
        {
            Ok(Answer::Ended) => return Err(RequestAborted::WorkerGone),
            Ok(Answer::Error { .. }) => {
                context.applicability.does_not_offer(LockFeature::EndClient)
            }
            Ok(other) => drop(self.client.wrong_answer(&context, "end-client", &other)),
            Err(_) => {}
        }
        // Fails if the worker has already exited, which does not matter.
        context.backend.kill_worker(worker).await.ok();
        Err(RequestAborted::WorkerGone)
    }

    /// Releases a hold that was granted after the client had cancelled the request.
    async fn release_if_cancelled(&mut self, hold: Hold) -> Result<Option<Hold>, RequestAborted> {
        if !self.client.has_cancelled() {
            return Ok(Some(hold));
        }
        self.release(hold).await?;
        Ok(None)
    }

    /// Returns the time after which the client cancels its request, or `None` if the workload does not cancel requests.
    fn cancel_after(&mut self) -> Option<Duration> {
        let spec = &self.context.spec;
        let about = spec.scenario.workload.cancel?.resolve(spec.ttl());
        Some(about.mul_f64(self.rng.random_range(0.5..1.5)))
    }

    /// Releases after a refused request, like a `finally` block. The lock's answer is not judged,
    /// only its effect on the keys.
    async fn release_refused(&mut self, op: u64, key: u32) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        if !context.spec.scenario.workload.release_refused {
            return Ok(());
        }
        let request = RequestKind::ReleaseUnheld {
            key: context.key(key),
        };
        let timeout = context.spec.command_timeout() * RELEASE_TIMEOUT_FACTOR;
        match self.request(Phase::Release, op, request, timeout).await? {
            Answer::Released { .. } | Answer::Error { .. } => Ok(()),
            other => Err(self
                .client
                .wrong_answer(&context, "release-unheld", &other)
                .into()),
        }
    }

    /// Sends a request in a phase, and waits for its answer. Until the answer arrives, the commands on the worker's
    /// links are attributed to this phase.
    pub(super) async fn request(
        &mut self,
        phase: Phase,
        op: u64,
        request: RequestKind,
        wait: Duration,
    ) -> Result<Answer, RequestAborted> {
        self.request_phase(phase, op, request, wait, None).await
    }

    async fn request_phase(
        &mut self,
        phase: Phase,
        op: u64,
        request: RequestKind,
        wait: Duration,
        cancel_after: Option<Duration>,
    ) -> Result<Answer, RequestAborted> {
        let context = Rc::clone(&self.context);
        context.backend.set_phase(self.worker, op, phase);
        let patience = wait + self.patience;
        let answer = self
            .client
            .request(&context, op, request, patience, cancel_after)
            .await?;
        if phase == Phase::Acquire && self.check_alive().is_ok() {
            record_idle_wait(&context, self.worker, true);
        }
        context.backend.set_phase(self.worker, op, Phase::Idle);
        Ok(answer)
    }

    pub(super) async fn ping(&mut self, hold: &Hold) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let patience = self.patience;
        let request = RequestKind::Ping;
        match self
            .client
            .request(&context, hold.op, request, patience, None)
            .await?
        {
            Answer::Pong => Ok(()),
            other => Err(self.client.wrong_answer(&context, "ping", &other).into()),
        }
    }

    pub(super) async fn event(&self, kind: TriggerEvent, stock: Option<i64>) {
        happened(&self.context, self.worker, kind, stock).await;
    }

    /// Records an event of this worker. If the nemesis has killed the worker in the meantime, the message was still in
    /// the pipe, and an error is returned instead.
    pub(super) fn write(&self, what: EventKind) -> Result<(), RequestAborted> {
        self.check_alive()?;
        self.context.recorder.write(what);
        Ok(())
    }

    pub(super) fn check_alive(&self) -> Result<(), RequestAborted> {
        let live_workers = &self.context.live_workers;
        if live_workers.is_over(self.worker, self.incarnation) {
            return Err(RequestAborted::WorkerGone);
        }
        Ok(())
    }
}

/// Reports an event that a fault may wait for. Returns after that fault has fired.
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

/// Records the idle time of a worker that is acquiring: it has sent no command that could take the
/// lock for longer than a lease, or no command at all.
pub(super) fn record_idle_wait<B: Backend>(
    context: &RunContext<B>,
    worker: usize,
    is_answered: bool,
) {
    let idle_wait = context.backend.idle_wait(worker);
    let ttl_ns = context.spec.ttl_ms().saturating_mul(1_000_000);
    if let Some(idle_wait) = idle_wait
        && let length_ns = idle_wait.until_ns.saturating_sub(idle_wait.from_ns)
        && (is_answered && idle_wait.no_command || length_ns > ttl_ns)
    {
        let is_overlong = Duration::from_nanos(length_ns) > context.spec.command_timeout();
        context.recorder.write(EventKind::IdleWhileWaiting {
            worker,
            op: idle_wait.op,
            from_ns: idle_wait.from_ns,
            until_ns: idle_wait.until_ns,
            no_command: is_answered && idle_wait.no_command,
            late_timeout: idle_wait.lost_reply && is_overlong,
        });
    }
}
