use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::time::Sleep;

use super::output_budget::{LineKind, OutputBudget};
use crate::adapter::local_channel::{Receiver, Sender, local_channel};
use crate::adapter::message::{Answer, Notification, Request, RequestKind, WorkerMessage};
use crate::adapter::process::WorkerOutput;
use crate::adapter::protocol_fault::ProtocolFault;
use crate::backend::{Backend, Session};
use crate::clock::nanos;
use crate::context::RunContext;
use crate::history::{EventKind, Misbehaviour};

/// Why a worker gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It has ended, for this reason.
    #[error("{0}")]
    Gone(String),
    /// It broke the protocol, in these words, and was ended for it.
    #[error("{0}")]
    BrokeProtocol(String),
    /// It did not answer within the deadline, and was killed for it.
    #[error("it did not answer `{asked}` within {:.1} s", .within.as_secs_f64())]
    Hung {
        /// What it was asked.
        asked: &'static str,
        /// The deadline.
        within: Duration,
    },
}

/// What the listener knows about the grants. It finds the operation of an event.
#[derive(Default)]
struct Grants {
    /// By a digest, because a token may be as long as a line.
    by_token: BTreeMap<u64, u64>,
    lost: Vec<u64>,
    asked: Option<(u64, u64)>,
    /// The latest request that was answered.
    answered: u64,
}

impl Grants {
    fn of(&self, token: &str) -> Option<u64> {
        self.by_token.get(&digest(token)).copied()
    }
}

/// What two tokens have in common if, and in practice only if, they are the same.
fn digest(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    token.hash(&mut hasher);
    hasher.finish()
}

/// The driver's connection to one worker: one request at a time, and events at any time, for which a task listens.
pub struct WorkerClient {
    worker: usize,
    next_id: u64,
    requests: Sender<Request>,
    answers: Receiver<Result<(u64, Answer), Silence>>,
    grants: Rc<RefCell<Grants>>,
    /// The lock has reported a loss.
    loss_report: Rc<Notify>,
    listener: tokio::task::JoinHandle<()>,
    /// Ends the wait for an answer. Reset for each request.
    patience: Pin<Box<Sleep>>,
    /// The worker was told to give up its last request.
    has_cancelled: bool,
}

impl Drop for WorkerClient {
    fn drop(&mut self) {
        // The task owns the session, so aborting it ends the worker.
        self.listener.abort();
    }
}

impl WorkerClient {
    /// Starts to listen. Events go into the history as they arrive.
    pub fn begin<B: Backend>(
        context: &Rc<RunContext<B>>,
        worker: usize,
        session: B::Session,
    ) -> Self {
        let (requests, to_send) = local_channel();
        let (heard, answers) = local_channel();
        let grants = Rc::new(RefCell::new(Grants::default()));
        let loss_report = Rc::new(Notify::new());
        let listener = OutputListener {
            context: Rc::clone(context),
            worker,
            grants: Rc::clone(&grants),
            loss_report: Rc::clone(&loss_report),
            heard,
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

    /// Sends a request, and waits for the answer for at most `patience`. `op`: the attempt it
    /// belongs to. After `giving_up` the worker is told to give up.
    ///
    /// # Errors
    /// The worker is gone, broke the protocol, or was killed because it hung.
    pub async fn ask<B: Backend>(
        &mut self,
        context: &RunContext<B>,
        op: u64,
        ask: RequestKind,
        patience: Duration,
        giving_up: Option<Duration>,
    ) -> Result<Answer, Silence> {
        self.has_cancelled = false;
        self.next_id += 1;
        let id = self.next_id;
        let asked = ask.op();
        self.grants.borrow_mut().asked = Some((id, op));
        // If this fails, the listener has ended, and the reason is in `answers`.
        let client = None;
        self.requests.send(Request { id, client, ask }).ok();
        let mut answer = pin!(answer_to(&mut self.answers, context, self.worker, id));
        if let Some(giving_up) = giving_up {
            let due_ns = context.clock.now_ns().saturating_add(nanos(giving_up));
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
        loop {
            let deadline_ns = context.clock.now_ns().saturating_add(nanos(patience));
            let deadline = context.clock.instant(deadline_ns);
            self.patience.as_mut().reset(deadline);
            match select(answer.as_mut(), self.patience.as_mut()).await {
                Either::Left((answer, _)) => return answer,
                // The history says who stands still.
                Either::Right(_) if context.backend.is_kept_from_answering(self.worker) => {}
                Either::Right(_) => break,
            }
        }
        let detail = format!(
            "no answer to `{asked}` within {} s (wait, command timeouts, longest fault, margin); killed",
            patience.as_secs_f64()
        );
        record_misbehaviour(context, self.worker, Misbehaviour::Hung, detail);
        Err(Silence::Hung {
            asked,
            within: patience,
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

    /// Waits until the worker is of no use any more, while it is asked nothing. Cancel-safe.
    pub async fn silence<B>(&mut self, context: &RunContext<B>) -> Silence {
        match self.answers.next().await {
            Some(Ok((answered, _))) => {
                let fault = ProtocolFault::wrong_id(self.next_id, answered).to_string();
                record_misbehaviour(context, self.worker, Misbehaviour::OutOfTurn, fault.clone());
                Silence::BrokeProtocol(fault)
            }
            Some(Err(silence)) => silence,
            None => Silence::Gone("the line is closed".into()),
        }
    }

    /// Records an answer that does not fit what was asked. The worker is of no use after it.
    pub fn broken_by<B>(
        &self,
        context: &RunContext<B>,
        op: &'static str,
        answer: &Answer,
    ) -> Silence {
        let fault = ProtocolFault::wrong_answer(op, answer.reply()).to_string();
        record_misbehaviour(context, self.worker, Misbehaviour::OutOfTurn, fault.clone());
        Silence::BrokeProtocol(fault)
    }

    /// True if the worker was told to give up its last request.
    pub fn has_cancelled(&self) -> bool {
        self.has_cancelled
    }

    /// True if the lock reported the lease of this operation as lost.
    pub fn has_lost(&self, op: u64) -> bool {
        self.grants.borrow().lost.contains(&op)
    }
}

async fn answer_to<B>(
    answers: &mut Receiver<Result<(u64, Answer), Silence>>,
    context: &RunContext<B>,
    worker: usize,
    id: u64,
) -> Result<Answer, Silence> {
    match answers.next().await {
        Some(Ok((answered, answer))) if answered == id => Ok(answer),
        Some(Ok((answered, _))) => {
            let fault = ProtocolFault::wrong_id(id, answered).to_string();
            record_misbehaviour(context, worker, Misbehaviour::OutOfTurn, fault.clone());
            Err(Silence::BrokeProtocol(fault))
        }
        Some(Err(silence)) => Err(silence),
        None => Err(Silence::Gone("the line is closed".into())),
    }
}

/// The task that listens to the worker.
struct OutputListener<B> {
    context: Rc<RunContext<B>>,
    worker: usize,
    grants: Rc<RefCell<Grants>>,
    loss_report: Rc<Notify>,
    heard: Sender<Result<(u64, Answer), Silence>>,
}

impl<B: Backend> OutputListener<B> {
    async fn listen(self, mut session: B::Session, mut to_send: Receiver<Request>) {
        let mut budget = OutputBudget::default();
        loop {
            // In a fixed order: the random order of `select!` does not depend on the seed.
            tokio::select! {
                biased;
                request = to_send.next() => match request {
                    // After a failed send, `next` returns the exit.
                    Some(request) => drop(session.send(request).await),
                    None => return,
                },
                heard = session.next() => {
                    let line = self.line(&heard);
                    if let Some(reason) = line.and_then(|line| budget.spend(line)) {
                        self.misbehaved(Misbehaviour::OutOfTurn, reason.clone());
                        self.heard.send(Err(Silence::BrokeProtocol(reason))).ok();
                        session.stop_listening();
                        // Nothing more is read, so its pipe fills and it stops. The buyer ends it,
                        // and until then it is what it was in the history: alive.
                        std::future::pending::<()>().await;
                    }
                    if !self.take(heard) {
                        return;
                    }
                }
            }
        }
    }

    /// What a line is; `None`: it is none.
    fn line(&self, heard: &WorkerOutput) -> Option<LineKind> {
        let grants = self.grants.borrow();
        let is_open = |id| {
            let open = grants.asked.filter(|(asked, _)| *asked > grants.answered);
            open.is_some_and(|(asked, _)| asked == id)
        };
        Some(match heard {
            WorkerOutput::Message(WorkerMessage::Reply { id, .. }) if is_open(*id) => {
                LineKind::Answer
            }
            WorkerOutput::Message(WorkerMessage::Event(
                Notification::Extended { token, .. } | Notification::Lost { token, .. },
            )) if grants.of(token).is_some() => LineKind::Event,
            WorkerOutput::Message(_) | WorkerOutput::Garbage(_) => LineKind::OutOfTurn,
            WorkerOutput::Exited(_) => return None,
        })
    }

    /// False: there is no more output.
    fn take(&self, heard: WorkerOutput) -> bool {
        match heard {
            WorkerOutput::Message(WorkerMessage::Reply { id, answer, .. }) => {
                self.remember_answer(id, &answer);
                self.heard.send(Ok((id, answer))).is_ok()
            }
            WorkerOutput::Message(WorkerMessage::Event(notification)) => {
                self.note(notification);
                true
            }
            // Nothing that follows can be trusted, and nobody should wait for it.
            WorkerOutput::Garbage(line) => {
                self.misbehaved(Misbehaviour::Garbage, line.to_string());
                let broke = Silence::BrokeProtocol(line.to_string());
                self.heard.send(Err(broke)).ok();
                false
            }
            WorkerOutput::Exited(reason) => {
                self.heard.send(Err(Silence::Gone(reason))).ok();
                false
            }
        }
    }

    fn remember_answer(&self, id: u64, answer: &Answer) {
        let mut grants = self.grants.borrow_mut();
        let Some((_, op)) = grants.asked.filter(|(asked, _)| *asked == id) else {
            return;
        };
        grants.answered = id;
        if let Answer::Granted { token, .. } = answer {
            grants.by_token.insert(digest(token), op);
        }
    }

    fn note(&self, notification: Notification) {
        let worker = self.worker;
        let token = notification.token();
        let known = self.grants.borrow().of(token);
        let Some(op) = known else {
            let event = notification.event();
            // A thread that renews may be faster than the one that writes the grant.
            let fault = ProtocolFault::UnknownToken { event };
            self.misbehaved(Misbehaviour::OutOfTurn, fault.to_string());
            return;
        };
        // Events of the probe's own lease are not part of the run.
        if !is_worker_of_the_run(&self.context, worker) {
            return;
        }
        let what = match notification {
            Notification::Extended {
                valid_ms,
                elapsed_ms,
                ..
            } => EventKind::Extended {
                worker,
                op,
                valid_ms,
                elapsed_ms,
            },
            Notification::Lost { .. } => {
                self.grants.borrow_mut().lost.push(op);
                EventKind::Lost { worker, op }
            }
        };
        let is_lost = matches!(what, EventKind::Lost { .. });
        self.context.recorder.write(what);
        if is_lost {
            self.loss_report.notify_one();
        }
    }

    fn misbehaved(&self, kind: Misbehaviour, detail: String) {
        record_misbehaviour(&self.context, self.worker, kind, detail);
    }
}

/// False for the client that takes the locks after the run: its number follows those of the workers.
fn is_worker_of_the_run<B>(context: &RunContext<B>, worker: usize) -> bool {
    worker < context.spec.scenario.workload.workers
}

/// Records misbehaviour of a worker. The client that takes the locks after the run is not one of the
/// run's workers: if it misbehaves, nothing is known about the locks.
fn record_misbehaviour<B>(
    context: &RunContext<B>,
    worker: usize,
    kind: Misbehaviour,
    detail: String,
) {
    let what = if is_worker_of_the_run(context, worker) {
        EventKind::Misbehaved {
            worker,
            kind,
            detail,
        }
    } else {
        EventKind::FinalInspectionFailed { reason: detail }
    };
    context.recorder.write(what);
}
