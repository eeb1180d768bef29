//! One process of the adapter. A question to it has a time limit.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::exchange::Exchange;
use super::finding::Problem;
use super::outcome::ConformanceError;
use crate::adapter::capped_log::last_lines;
use crate::adapter::control::WorkerControl;
use crate::adapter::message::{MAX_EVENTS, Notification, Request, RequestKind, WorkerMessage};
use crate::adapter::message_shape::REQUESTS;
use crate::adapter::process::{
    ProcessError, WorkerOutput, WorkerProcess, WorkerStdin, WorkerStdout,
};
use crate::adapter::protocol_fault::ProtocolFault;
use crate::adapter::worker_command::WorkerCommand;
use crate::clock::Clock;
use crate::process_stat::{ProcessStat, peers_of, waited_ns};
use crate::servers::{BackendError, Reaper, Registration, WorkerContainer, parent_death_signal};

/// How long an adapter may be silent beyond all waiting that was asked for.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The same of a release: a library may try for seconds to give back what is gone, behind an extension that does so too.
const RELEASE_PATIENCE: Duration = Duration::from_secs(6);
/// How long it may take to get ready. Nothing is tested by then, and on a machine that is busy a program
/// that starts may have to wait for the disk or a processor for seconds, without using one.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// More for one in a container, each time: what goes to it and comes from it passes the engine, which a busy machine
/// keeps waiting as well, and nobody sees for how long.
const ENGINE_PATIENCE: Duration = Duration::from_secs(10);
/// One that works is given more time, so that a busy machine accuses nobody: as long as it uses a processor, or waits
/// for one, for longer than [`IDLE`] in each of these.
const WINDOW: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(50);
/// What the kernel counts processor time in.
const TICK: Duration = Duration::from_millis(10);
/// At last, patience ends.
const LONGEST: Duration = Duration::from_secs(20);
/// How long it may take to exit after its input has ended.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// How long what it started may take to follow.
const FOLLOW_PATIENCE: Duration = Duration::from_millis(1_500);
/// Pause between two looks at processes that should end.
const LOOK: Duration = Duration::from_millis(20);
/// This many of the last lines of its log are told.
const LAST_LINES: usize = 4;

pub(super) struct Client {
    control: WorkerControl,
    /// Its container, if it lives in one. `control` then is that of what carries its streams.
    container: Option<WorkerContainer>,
    stdin: Option<WorkerStdin>,
    stdout: WorkerStdout,
    log: PathBuf,
    clock: Clock,
    last_id: u64,
    /// Requests that nobody waits for yet: what was asked, and when.
    open: BTreeMap<u64, (&'static str, Duration)>,
    /// Tokens that it was granted.
    tokens: BTreeSet<String>,
    /// Events that were not yet taken.
    events: Vec<Notification>,
    /// How many events there were in all.
    told: u32,
    _registrations: [Registration; 2],
}

/// How a process ended after its input.
#[derive(Debug)]
pub(super) struct EndSeen {
    /// In words; `None`: it went on, and was killed.
    pub how: Option<String>,
    /// How long it was given for it.
    pub within: Duration,
    /// The processes that it left behind: name and number.
    pub left: Vec<String>,
}

impl Client {
    /// Starts the process. One in a container has begun when this returns, or has ended. An error: it does not start.
    pub(super) async fn start(
        command: &WorkerCommand,
        container: Option<WorkerContainer>,
        log: &Path,
        reaper: &Reaper,
        clock: &Clock,
    ) -> Result<Self, ConformanceError> {
        let mut argv = command.argv_to_start();
        argv.extend(container.iter().map(|it| it.name().to_owned()));
        let process = WorkerProcess::spawn(&argv, log, |started| {
            parent_death_signal::prepare(started);
            command.prepare(started);
        })?;
        let control = process.control;
        control.spare_group();
        // At once: a process that has ended is soon gone.
        let group = reaper.group(control.pid()).map_err(BackendError::from)?;
        let marked = reaper.marked(&control.mark()).map_err(BackendError::from)?;
        if let Some(container) = &container {
            // If it has ended, the adapter's first answer says so.
            container.until_begun(control.exited()).await?;
        }
        Ok(Client {
            control,
            container,
            stdin: Some(process.stdin),
            stdout: process.stdout,
            log: log.to_owned(),
            clock: clock.clone(),
            last_id: 0,
            open: BTreeMap::new(),
            tokens: BTreeSet::new(),
            events: Vec::new(),
            told: 0,
            _registrations: [group, marked],
        })
    }

    /// Sends a request. `wait`: how long the adapter may take beside its own work. An error here and below: it broke
    /// the protocol.
    pub(super) async fn ask(
        &mut self,
        ask: RequestKind,
        wait: Duration,
    ) -> Result<Exchange, Problem> {
        let op = ask.op();
        let (ttl_ms, wait_ms) = match &ask {
            RequestKind::Acquire {
                ttl_ms, wait_ms, ..
            } => (*ttl_ms, *wait_ms),
            RequestKind::Extend { ttl_ms, .. } => (*ttl_ms, 0),
            _ => (0, 0),
        };
        let told_wait = Duration::from_millis(wait_ms);
        let patience = match ask {
            RequestKind::Init { .. } => START_PATIENCE,
            RequestKind::Release { .. } => RELEASE_PATIENCE + wait,
            _ => PATIENCE + wait + told_wait,
        };
        self.last_id += 1;
        let id = self.last_id;
        let client = None;
        let line = serde_json::to_string(&Request { id, client, ask }).unwrap_or_default();
        let exchange = self.exchange(op, &line, patience, told_wait).await?;
        Ok(Exchange { ttl_ms, ..exchange })
    }

    /// Sends a request of one of several clients, or of the only one, and does not wait for the answer. Returns its id.
    pub(super) async fn send(&mut self, client: Option<usize>, ask: RequestKind) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.open.insert(id, (ask.op(), self.clock.elapsed()));
        let line = serde_json::to_string(&Request { id, client, ask }).unwrap_or_default();
        self.write(&line).await;
        id
    }

    /// This request has no answer of its own.
    pub(super) fn forget(&mut self, id: u64) {
        self.open.remove(&id);
    }

    /// The next answer to one of the requests that were sent.
    pub(super) async fn answer(&mut self) -> Result<Exchange, Problem> {
        let oldest = self.open.values().next();
        let (op, sent) = oldest.copied().unwrap_or_default();
        let mut exchange = self.heard_after(sent, op, PATIENCE, Duration::ZERO).await?;
        let Some((op, sent)) = self.open.remove(&exchange.id) else {
            let fault = ProtocolFault::wrong_id(self.last_id, exchange.id);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        };
        (exchange.op, exchange.sent) = (op, sent);
        self.of_a_fitting_kind(exchange)
    }

    /// The next request has this id, unless that was passed. Later ones follow it.
    pub(super) fn continue_ids_at(&mut self, id: u64) {
        self.last_id = self.last_id.max(id - 1);
    }

    /// Sends a request as it stands here, with an id. `op`: whose answers it may get.
    pub(super) async fn ask_oddly(
        &mut self,
        op: &'static str,
        mut request: Value,
    ) -> Result<Exchange, Problem> {
        self.last_id += 1;
        request["id"] = json!(self.last_id);
        self.exchange(op, &request.to_string(), PATIENCE, Duration::ZERO)
            .await
    }

    /// Sends a line that is not a request.
    pub(super) async fn babble(&mut self) {
        // One that does not read any more is seen at the next request.
        self.write("this is not a request").await;
    }

    async fn write(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let line = format!("{line}\n");
            // A full pipe has no reader either.
            let _ = timeout(PATIENCE, stdin.write(line.as_bytes())).await;
        }
    }

    async fn exchange(
        &mut self,
        op: &'static str,
        line: &str,
        patience: Duration,
        wait: Duration,
    ) -> Result<Exchange, Problem> {
        let sent = self.clock.elapsed();
        self.write(line).await;
        let exchange = self.heard_after(sent, op, patience, wait).await?;
        let asked = self.last_id;
        if exchange.id != asked {
            let fault = ProtocolFault::wrong_id(asked, exchange.id);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        }
        self.of_a_fitting_kind(exchange)
    }

    /// The next answer. `op`: what it is waited for.
    async fn heard_after(
        &mut self,
        sent: Duration,
        op: &'static str,
        patience: Duration,
        wait: Duration,
    ) -> Result<Exchange, Problem> {
        let begun = self.clock.elapsed();
        loop {
            let Some(heard) = self.hear(begun, patience).await else {
                let within = self.clock.elapsed().saturating_sub(sent);
                return Err(self.fault(match self.stdout.unfinished().is_empty() {
                    true => ProtocolFault::NoAnswer { op, within, wait },
                    false => ProtocolFault::Unfinished { op },
                }));
            };
            match heard {
                WorkerOutput::Message(WorkerMessage::Event(event)) => {
                    self.told += 1;
                    if self.told > MAX_EVENTS {
                        return Err(ProtocolFault::TooManyEvents { most: MAX_EVENTS }.into());
                    }
                    self.events.push(event);
                }
                WorkerOutput::Message(WorkerMessage::Reply { id, answer, .. }) => {
                    return Ok(Exchange {
                        op,
                        id,
                        ttl_ms: 0,
                        answer,
                        sent,
                        heard: self.clock.elapsed(),
                    });
                }
                WorkerOutput::Garbage(malformed) => return Err(malformed.into()),
                WorkerOutput::Exited(how) => {
                    return Err(self.fault(ProtocolFault::Ended { op, how }));
                }
            }
        }
    }

    /// An answer of a kind that its request may get.
    fn of_a_fitting_kind(&mut self, exchange: Exchange) -> Result<Exchange, Problem> {
        let reply = exchange.answer.reply();
        // What the protocol does not have, it has no answers for.
        let request = REQUESTS.iter().find(|(name, _)| *name == exchange.op);
        if request.is_some_and(|(_, answers)| !answers.contains(&reply)) {
            let fault = ProtocolFault::wrong_answer(exchange.op, reply);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        }
        self.tokens.extend(exchange.token().map(str::to_owned));
        Ok(exchange)
    }

    /// What it says next; `None`: nothing, for longer than patience lasts from this time on. What it says meanwhile
    /// does not renew that.
    async fn hear(&mut self, begun: Duration, patience: Duration) -> Option<WorkerOutput> {
        let until = begun + patience + self.engine_patience();
        let left = until.saturating_sub(self.clock.elapsed());
        if let Ok(heard) = timeout(left, self.stdout.next()).await {
            return Some(heard);
        }
        while self.clock.elapsed() < until + LONGEST {
            let before = self.busy_time().await;
            if let Ok(heard) = timeout(WINDOW, self.stdout.next()).await {
                return Some(heard);
            }
            if self.busy_time().await.saturating_sub(before) < IDLE {
                return None;
            }
        }
        None
    }

    fn engine_patience(&self) -> Duration {
        let container = self.container.as_ref();
        container.map_or(Duration::ZERO, |_| ENGINE_PATIENCE)
    }

    /// How long all its processes have used a processor, or waited for one although they could run.
    async fn busy_time(&self) -> Duration {
        let living = self.living().await.unwrap_or_default();
        let busy = living.into_iter().map(|pid| {
            let ticks = ProcessStat::for_process(pid).map_or(0, |stat| stat.cpu_ticks);
            let used = TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
            used + Duration::from_nanos(waited_ns(pid).unwrap_or(0))
        });
        busy.sum()
    }

    /// A fault, with the line that it has not finished.
    fn fault(&self, fault: ProtocolFault) -> Problem {
        let (problem, unfinished) = (Problem::from(fault), self.stdout.unfinished());
        match unfinished.is_empty() {
            true => problem,
            false => problem.with_line(&unfinished),
        }
    }

    /// The events that came since they were taken last. An error: one is about a token that it was never granted.
    pub(super) fn take_events(&mut self) -> Result<Vec<Notification>, Problem> {
        let events = std::mem::take(&mut self.events);
        for event in &events {
            if !self.tokens.contains(event.token()) {
                let line = serde_json::to_string(event).unwrap_or_default();
                let fault = ProtocolFault::UnknownToken {
                    event: event.event(),
                };
                return Err(Problem::from(fault).with_line(&line));
            }
        }
        Ok(events)
    }

    /// Whom its processes are connected to. An error: the system does not show it.
    pub(super) async fn peers(&self) -> Result<BTreeSet<SocketAddr>, String> {
        let living = match &self.container {
            // What carries the streams is connected to the engine.
            Some(container) => container.processes().await.into_iter().collect(),
            None => self.living().await.map_err(|error| error.to_string())?,
        };
        peers_of(&living).map_err(|error| error.to_string())
    }

    /// Ends its input, waits for its end, and looks what it leaves behind.
    pub(super) async fn end_input(&mut self) -> EndSeen {
        // What is known of its descendants before it ends is known after.
        let _ = self.living().await;
        self.stdin = None;
        let within = END_PATIENCE + self.engine_patience();
        let how = timeout(within, self.control.exited()).await.ok();
        let begun = self.clock.elapsed();
        let mut left = self.control.living().await.unwrap_or_default();
        while how.is_some()
            && !left.is_empty()
            && self.clock.elapsed().saturating_sub(begun) < FOLLOW_PATIENCE
        {
            tokio::time::sleep(LOOK).await;
            left = self.control.living().await.unwrap_or_default();
        }
        let pid = self.control.pid();
        let left = left.into_iter().filter(|one| *one != pid).map(named);
        let left = left.collect();
        EndSeen { how, within, left }
    }

    /// The ids of its processes that live.
    async fn living(&self) -> Result<Vec<u32>, ProcessError> {
        let mut living = self.control.living().await?;
        if let Some(container) = &self.container {
            living.extend(container.processes().await);
        }
        Ok(living)
    }

    pub(super) async fn kill(&mut self) {
        if let Some(container) = &self.container {
            // One that cannot be removed now is left to the end of all checks.
            let _ = container.remove().await;
        }
        self.control.kill().await;
    }

    pub(super) fn last_lines(&self) -> Vec<String> {
        last_lines(&self.log, LAST_LINES)
    }
}

/// `sleep (4711)`.
fn named(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{} ({pid})", name.trim())
}
