//! The driver's connection to one worker: requests, answers, and the events that arrive in between.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::time::Sleep;

use super::grants::{Grants, digest, record_misbehaviour, record_notification};
use super::output_budget::{LineKind, OutputBudget};
use crate::adapter::local_channel::{Receiver, Sender, local_channel};
use crate::adapter::message::{Answer, Notification, Request, RequestKind, WorkerMessage};
use crate::adapter::process::WorkerOutput;
use crate::adapter::protocol_fault::ProtocolFault;
use crate::backend::{Backend, Session};
use crate::clock::nanos;
use crate::context::RunContext;
use crate::history::{EventKind, Misbehaviour};

/// The reason why a worker gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerFailure {
    /// The worker has exited, for this reason.
    #[error("{0}")]
    Gone(String),
    /// The worker broke the protocol, as described, and was ended for it.
    #[error("{0}")]
    BrokeProtocol(String),
    /// The worker did not answer within the deadline, and was killed for it.
    #[error("no answer to `{request}` within {:.1} s{}", .within.as_secs_f64(), stopped_note(*.is_stopped))]
    Hung {
        /// The request that it did not answer.
        request: &'static str,
        /// The deadline.
        within: Duration,
        /// Whether one of its processes was stopped by a signal that no fault sent.
        is_stopped: bool,
    },
}

/// Returns the end of a sentence about a worker that did not answer.
fn stopped_note(is_stopped: bool) -> &'static str {
    if is_stopped {
        ": its process was stopped by a signal (SIGSTOP) that no fault sent"
    } else {
        ""
    }
}

/// The driver's connection to one worker. There is one request at a time. Events can arrive at any time, and are
/// received by a task.
pub struct WorkerClient {
    worker: usize,
    next_id: u64,
    requests: Sender<Request>,
    answers: Receiver<Result<(u64, Answer), WorkerFailure>>,
    grants: Rc<RefCell<Grants>>,
    /// Notifies of a loss that the lock reported.
    loss_report: Rc<Notify>,
    listener: tokio::task::JoinHandle<()>,
    /// Timer that ends the wait for an answer. Reset for each request.
    patience: Pin<Box<Sleep>>,
    /// Whether the last request was cancelled.
    has_cancelled: bool,
}

impl Drop for WorkerClient {
    fn drop(&mut self) {
        // The task owns the session, so aborting it ends the worker.
        self.listener.abort();
    }
}

impl WorkerClient {
    /// Starts to receive the worker's output. Events are recorded in the history as they arrive.
    pub fn begin<B: Backend>(
        context: &Rc<RunContext<B>>,
        worker: usize,
        session: B::Session,
    ) -> Self {
        let (requests, to_send) = local_channel();
        let (replies, answers) = local_channel();
        let grants = Rc::new(RefCell::new(Grants::default()));
        let loss_report = Rc::new(Notify::new());
        let listener = OutputListener {
            context: Rc::clone(context),
            worker,
            grants: Rc::clone(&grants),
            loss_report: Rc::clone(&loss_report),
            replies,
        };
        WorkerClient {
            worker,
            next_id: 0,
            requests,
            answers,
            grants,
            loss_report,
            listener: tokio::task::spawn_local(listener.listen(session, to_send)),
            patience: Box::pin(tokio::time::sleep(Duration::ZERO)),
            has_cancelled: false,
        }
    }

    /// Sends a request, and waits for the answer for at most `patience`. `op` is the attempt to
    /// which it belongs. The request is cancelled after `cancel_after`, if that is set.
    ///
    /// # Errors
    /// Returns an error if the worker is gone, broke the protocol, or was killed because it hung.
    pub async fn request<B: Backend>(
        &mut self,
        context: &RunContext<B>,
        op: u64,
        kind: RequestKind,
        patience: Duration,
        cancel_after: Option<Duration>,
    ) -> Result<Answer, WorkerFailure> {
        let answer = self
            .exchange(context, op, kind, patience, cancel_after)
            .await;
        let is_grant = matches!(answer, Ok(Answer::Granted { .. }));
        if !is_grant || self.grants.borrow().is_recorded(op) {
            self.record_early_events(context, None);
        }
        answer
    }

    async fn exchange<B: Backend>(
        &mut self,
        context: &RunContext<B>,
        op: u64,
        kind: RequestKind,
        patience: Duration,
        cancel_after: Option<Duration>,
    ) -> Result<Answer, WorkerFailure> {
        self.has_cancelled = false;
        self.next_id += 1;
        let id = self.next_id;
        let request = kind.name();
        self.grants.borrow_mut().pending = Some((id, op));
        // If this fails, the listener has ended, and `answers` contains the reason.
        self.requests
            .send(Request {
                id,
                client: None,
                ask: kind,
            })
            .ok();
        let mut answer = pin!(answer_to(&mut self.answers, context, self.worker, id));
        if let Some(cancel_after) = cancel_after {
            let due_ns = context.clock.now_ns().saturating_add(nanos(cancel_after));
            self.patience.as_mut().reset(context.clock.instant(due_ns));
            if let Either::Left((answer, _)) = select(answer.as_mut(), self.patience.as_mut()).await
            {
                return answer;
            }
            self.has_cancelled = true;
            self.next_id += 1;
            let worker = self.worker;
            context.recorder.write(EventKind::Cancel { worker, op });
            let cancel = Request {
                id: self.next_id,
                client: None,
                ask: RequestKind::Cancel { of: id },
            };
            self.requests.send(cancel).ok();
        }
        let mut was_extended = false;
        let is_stopped = loop {
            let deadline_ns = context.clock.now_ns().saturating_add(nanos(patience));
            let deadline = context.clock.instant(deadline_ns);
            self.patience.as_mut().reset(deadline);
            if let Either::Left((answer, _)) = select(answer.as_mut(), self.patience.as_mut()).await
            {
                return answer;
            }
            // A component that has stalled may continue soon, and the history states which one it is. A stopped
            // process continues only if something resumes it. The second deadline is final, so that no worker delays
            // the run forever.
            let is_stopped = context.backend.is_stopped(self.worker);
            let is_busy = !is_stopped && context.backend.may_be_unable_to_answer(self.worker);
            if was_extended || !is_busy {
                break is_stopped;
            }
            was_extended = true;
        };
        record_missing_answer(context, self.worker, request, patience, is_stopped);
        Err(WorkerFailure::Hung {
            request,
            within: patience,
            is_stopped,
        })
    }

    /// Waits until the lock reports the lease of this operation as lost.
    pub fn loss(&self, op: u64) -> impl Future<Output = ()> + use<> {
        let (grants, loss_report) = (Rc::clone(&self.grants), Rc::clone(&self.loss_report));
        async move {
            while !grants.borrow().lost.contains(&op) {
                loss_report.notified().await;
            }
        }
    }

    /// Waits until the worker fails, while no request is pending. Cancel-safe.
    pub async fn failure<B>(&mut self, context: &RunContext<B>) -> WorkerFailure {
        match self.answers.next().await {
            Some(Ok((answered, _))) => {
                let fault = ProtocolFault::wrong_id(self.next_id, answered).to_string();
                record_misbehaviour(context, self.worker, Misbehaviour::OutOfTurn, fault.clone());
                WorkerFailure::BrokeProtocol(fault)
            }
            Some(Err(failure)) => failure,
            None => WorkerFailure::Gone("the line is closed".into()),
        }
    }

    /// Returns how the worker exited, or `None` if it has not exited. No request may be pending.
    pub fn exit_reason(&mut self) -> Option<String> {
        match self.answers.next().now_or_never()?? {
            Err(WorkerFailure::Gone(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Records an answer that does not fit the request. After that, the worker cannot be used any more.
    pub fn wrong_answer<B>(
        &self,
        context: &RunContext<B>,
        op: &'static str,
        answer: &Answer,
    ) -> WorkerFailure {
        let fault = ProtocolFault::wrong_answer(op, answer.reply()).to_string();
        record_misbehaviour(context, self.worker, Misbehaviour::OutOfTurn, fault.clone());
        WorkerFailure::BrokeProtocol(fault)
    }

    /// Records the events that came before the answer to the last request was recorded. `granted` is the operation
    /// whose grant is now in the history, if the answer was a grant.
    pub fn record_early_events<B>(&self, context: &RunContext<B>, granted: Option<u64>) {
        let early = {
            let mut grants = self.grants.borrow_mut();
            grants.recorded = granted.unwrap_or(grants.recorded);
            std::mem::take(&mut grants.early)
        };
        for notification in early {
            let (grants, loss_report) = (&self.grants, &self.loss_report);
            record_notification(context, self.worker, grants, loss_report, notification);
        }
    }

    /// Returns `true` if the last request was cancelled.
    pub fn has_cancelled(&self) -> bool {
        self.has_cancelled
    }

    /// Returns `true` if the lock reported the lease of this operation as lost.
    pub fn has_lost(&self, op: u64) -> bool {
        self.grants.borrow().lost.contains(&op)
    }
}

async fn answer_to<B>(
    answers: &mut Receiver<Result<(u64, Answer), WorkerFailure>>,
    context: &RunContext<B>,
    worker: usize,
    id: u64,
) -> Result<Answer, WorkerFailure> {
    match answers.next().await {
        Some(Ok((answered, answer))) if answered == id => Ok(answer),
        Some(Ok((answered, _))) => {
            let fault = ProtocolFault::wrong_id(id, answered).to_string();
            record_misbehaviour(context, worker, Misbehaviour::OutOfTurn, fault.clone());
            Err(WorkerFailure::BrokeProtocol(fault))
        }
        Some(Err(failure)) => Err(failure),
        None => Err(WorkerFailure::Gone("the line is closed".into())),
    }
}

/// The task that receives the worker's output.
struct OutputListener<B> {
    context: Rc<RunContext<B>>,
    worker: usize,
    grants: Rc<RefCell<Grants>>,
    loss_report: Rc<Notify>,
    replies: Sender<Result<(u64, Answer), WorkerFailure>>,
}

impl<B: Backend> OutputListener<B> {
    async fn listen(self, mut session: B::Session, mut to_send: Receiver<Request>) {
        let mut budget = OutputBudget::default();
        loop {
            // In a fixed order, because the random order of `select!` does not depend on the seed.
            tokio::select! {
                biased;
                request = to_send.next() => match request {
                    // After a failed send, `next` returns the exit.
                    Some(request) => drop(session.send(request).await),
                    None => return,
                },
                output = session.next() => {
                    let line = self.line(&output);
                    if let Some(reason) = line.and_then(|line| budget.spend(line)) {
                        self.record_misbehaviour(Misbehaviour::OutOfTurn, reason.clone());
                        self.replies.send(Err(WorkerFailure::BrokeProtocol(reason))).ok();
                        session.stop_listening();
                        // No more output is read, so the worker blocks when its pipe is full. The client ends the
                        // worker. Until then, the worker counts as alive in the history.
                        std::future::pending::<()>().await;
                    }
                    if !self.handle(output) {
                        return;
                    }
                }
            }
        }
    }

    /// Returns the kind of a line, or `None` if the output is not a line.
    fn line(&self, output: &WorkerOutput) -> Option<LineKind> {
        let grants = self.grants.borrow();
        let is_pending = |id| grants.pending_id() == Some(id);
        Some(match output {
            WorkerOutput::Message(WorkerMessage::Reply { id, .. }) if is_pending(*id) => {
                LineKind::Answer
            }
            WorkerOutput::Message(WorkerMessage::Event(
                Notification::Extended { token, .. } | Notification::Lost { token, .. },
            )) if grants.operation(token).is_some() => LineKind::Event,
            WorkerOutput::Message(_) | WorkerOutput::Garbage(_) => LineKind::OutOfTurn,
            WorkerOutput::Exited(_) => return None,
        })
    }

    /// Handles an output. Returns `false` if there is no more.
    fn handle(&self, output: WorkerOutput) -> bool {
        match output {
            WorkerOutput::Message(WorkerMessage::Reply { id, answer, .. }) => {
                self.record_grant(id, &answer);
                self.replies.send(Ok((id, answer))).is_ok()
            }
            WorkerOutput::Message(WorkerMessage::Event(notification)) => {
                self.record_notification(notification);
                true
            }
            // No later output can be trusted, so it is not read.
            WorkerOutput::Garbage(line) => {
                self.record_misbehaviour(Misbehaviour::Garbage, line.to_string());
                let broke = WorkerFailure::BrokeProtocol(line.to_string());
                self.replies.send(Err(broke)).ok();
                false
            }
            WorkerOutput::Exited(reason) => {
                self.replies.send(Err(WorkerFailure::Gone(reason))).ok();
                false
            }
        }
    }

    fn record_grant(&self, id: u64, answer: &Answer) {
        let mut grants = self.grants.borrow_mut();
        let Some((_, op)) = grants.pending.filter(|(pending_id, _)| *pending_id == id) else {
            return;
        };
        grants.answered = id;
        if let Answer::Granted { token, .. } = answer {
            grants.by_token.insert(digest(token), op);
        }
    }

    fn record_notification(&self, notification: Notification) {
        if self.grants.borrow().is_early(&notification) {
            self.grants.borrow_mut().early.push(notification);
            return;
        }
        let (context, worker) = (&self.context, self.worker);
        record_notification(
            context,
            worker,
            &self.grants,
            &self.loss_report,
            notification,
        );
    }

    fn record_misbehaviour(&self, kind: Misbehaviour, detail: String) {
        record_misbehaviour(&self.context, self.worker, kind, detail);
    }
}

/// Records that a worker did not answer `request` within `patience`, because it hung or because its process was
/// stopped.
fn record_missing_answer<B>(
    context: &RunContext<B>,
    worker: usize,
    request: &str,
    patience: Duration,
    is_stopped: bool,
) {
    let kind = if is_stopped {
        Misbehaviour::Stopped
    } else {
        Misbehaviour::Hung
    };
    let detail = format!(
        "no answer to `{request}` within {} s (wait, command timeouts, longest fault, margin){}; killed",
        patience.as_secs_f64(),
        stopped_note(is_stopped)
    );
    record_misbehaviour(context, worker, kind, detail);
}
