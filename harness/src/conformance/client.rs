//! One process of the adapter. Every request to it has a time limit.

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
use crate::process_stat::{ProcessStat, cpu_waits, peers_of};
use crate::servers::{BackendError, Reaper, Registration, WorkerContainer, parent_death_signal};

/// Time that an adapter may take to reply, in addition to the requested wait.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Time that a release may take. A library may retry for seconds, and an extension before it may have done so, too.
const RELEASE_PATIENCE: Duration = Duration::from_secs(6);
/// Time that the start may take. It is long because it is not part of the test, and on a busy machine a starting
/// program may wait for the disk or a CPU for seconds without using CPU time.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// Additional time per reply for an adapter in a container: its messages pass through the engine, which a busy machine
/// delays by an unknown time, too.
const ENGINE_PATIENCE: Duration = Duration::from_secs(10);
/// Length of the window in which an adapter's CPU use is measured. An adapter that uses or waits for a CPU for longer
/// than [`IDLE`] in a window is working. It then gets more time, so that it does not fail because the machine is busy.
const WINDOW: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(50);
/// The unit of the kernel's CPU time counters.
const TICK: Duration = Duration::from_millis(10);
/// Maximum additional time for an adapter that is working.
const MAX_EXTENSION: Duration = Duration::from_secs(20);
/// Time that the adapter may take to exit after its input has ended.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// Time that the adapter's own child processes may take to exit after it.
const FOLLOW_PATIENCE: Duration = Duration::from_millis(1_500);
/// Pause between two inspections of processes that should exit.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of lines from the end of the adapter's log to report.
const LAST_LINES: usize = 4;

/// A process of the adapter.
pub(super) struct Client {
    control: WorkerControl,
    /// The container, if the adapter runs in one. `control` then belongs to the process that carries the container's
    /// streams.
    container: Option<WorkerContainer>,
    stdin: Option<WorkerStdin>,
    stdout: WorkerStdout,
    log: PathBuf,
    clock: Clock,
    last_id: u64,
    /// Requests whose replies are outstanding, by id: the `op`, and when it was sent.
    pending: BTreeMap<u64, (&'static str, Duration)>,
    /// Tokens of all grants so far.
    tokens: BTreeSet<String>,
    /// Events that `take_events` has not returned yet.
    events: Vec<Notification>,
    /// Total number of events.
    event_count: u32,
    _registrations: [Registration; 2],
}

/// How a process ended after its input.
#[derive(Debug)]
pub(super) struct EndSeen {
    /// A description of its exit, or `None` if it did not exit and was killed.
    pub how: Option<String>,
    /// The time limit.
    pub within: Duration,
    /// The processes that it left behind, with name and PID.
    pub left: Vec<String>,
}

impl Client {
    /// Starts the process. For a container, waits until the program in it has started or exited.
    ///
    /// # Errors
    /// Returns an error if the process does not start.
    pub(super) async fn start(
        command: &WorkerCommand,
        container: Option<WorkerContainer>,
        log: &Path,
        reaper: &Reaper,
        clock: &Clock,
    ) -> Result<Self, ConformanceError> {
        let mut argv = command.argv_to_start();
        argv.extend(
            container
                .iter()
                .map(|container| container.name().to_owned()),
        );
        let process = WorkerProcess::spawn(&argv, log, |started| {
            parent_death_signal::prepare(started);
            command.prepare(started);
        })?;
        let control = process.control;
        control.spare_group();
        // Register the process at once, because it may exit and be reaped soon.
        let group = reaper.group(control.pid()).map_err(BackendError::from)?;
        let marked = reaper.marked(&control.mark()).map_err(BackendError::from)?;
        if let Some(container) = &container {
            // If the program has exited, the first request reports that.
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
            pending: BTreeMap::new(),
            tokens: BTreeSet::new(),
            events: Vec::new(),
            event_count: 0,
            _registrations: [group, marked],
        })
    }

    /// Sends a request, and returns it with its reply. The adapter may take `wait` in addition to its own work.
    ///
    /// # Errors
    /// Returns an error if the adapter broke the protocol.
    pub(super) async fn ask(
        &mut self,
        ask: RequestKind,
        wait: Duration,
    ) -> Result<Exchange, Problem> {
        let name = ask.name();
        let (ttl_ms, wait_ms) = match &ask {
            RequestKind::Acquire {
                ttl_ms, wait_ms, ..
            } => (*ttl_ms, *wait_ms),
            RequestKind::Extend { ttl_ms, .. } => (*ttl_ms, 0),
            _ => (0, 0),
        };
        let requested_wait = Duration::from_millis(wait_ms);
        let patience = match ask {
            RequestKind::Init { .. } => START_PATIENCE,
            RequestKind::Release { .. } => RELEASE_PATIENCE + wait,
            _ => PATIENCE + wait + requested_wait,
        };
        self.last_id += 1;
        let id = self.last_id;
        let client = None;
        let line = serde_json::to_string(&Request { id, client, ask }).unwrap_or_default();
        let exchange = self.exchange(name, &line, patience, requested_wait).await?;
        Ok(Exchange { ttl_ms, ..exchange })
    }

    /// Sends a request for one of several clients, or for the only client, without waiting for the reply. Returns
    /// its id.
    pub(super) async fn send(&mut self, client: Option<usize>, ask: RequestKind) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.pending.insert(id, (ask.name(), self.clock.elapsed()));
        let line = serde_json::to_string(&Request { id, client, ask }).unwrap_or_default();
        self.write(&line).await;
        id
    }

    /// Stops expecting a reply to a request that has no reply.
    pub(super) fn forget(&mut self, id: u64) {
        self.pending.remove(&id);
    }

    /// Returns the next reply to one of the requests that were sent.
    pub(super) async fn next_reply(&mut self) -> Result<Exchange, Problem> {
        let oldest = self.pending.values().next();
        let (op, sent) = oldest.copied().unwrap_or_default();
        let mut exchange = self
            .receive_reply(sent, op, PATIENCE, Duration::ZERO)
            .await?;
        let Some((op, sent)) = self.pending.remove(&exchange.id) else {
            let fault = ProtocolFault::wrong_id(self.last_id, exchange.id);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        };
        (exchange.op, exchange.sent) = (op, sent);
        self.check_reply_kind(exchange)
    }

    /// Makes the next request use this id, unless a higher id has been used already.
    pub(super) fn continue_ids_at(&mut self, id: u64) {
        self.last_id = self.last_id.max(id - 1);
    }

    /// Sends an arbitrary JSON request with an id, and returns it with its reply. Accepts any reply that `op` allows.
    pub(super) async fn ask_raw(
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
    pub(super) async fn send_garbage(&mut self) {
        // If the adapter no longer reads, the next request fails.
        self.write("this is not a request").await;
    }

    async fn write(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let line = format!("{line}\n");
            // If this times out, the adapter does not read. The wait for the next reply then fails.
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
        let exchange = self.receive_reply(sent, op, patience, wait).await?;
        let expected_id = self.last_id;
        if exchange.id != expected_id {
            let fault = ProtocolFault::wrong_id(expected_id, exchange.id);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        }
        self.check_reply_kind(exchange)
    }

    /// Waits for the next reply, which should answer a request with this `op`.
    async fn receive_reply(
        &mut self,
        sent: Duration,
        op: &'static str,
        patience: Duration,
        wait: Duration,
    ) -> Result<Exchange, Problem> {
        let begun = self.clock.elapsed();
        loop {
            let Some(output) = self.receive(begun, patience).await else {
                let within = self.clock.elapsed().saturating_sub(sent);
                let fault = if self.stdout.unfinished().is_empty() {
                    ProtocolFault::NoAnswer { op, within, wait }
                } else {
                    ProtocolFault::Unfinished { op }
                };
                return Err(self.problem(fault));
            };
            match output {
                WorkerOutput::Message(WorkerMessage::Event(event)) => {
                    self.event_count += 1;
                    if self.event_count > MAX_EVENTS {
                        return Err(ProtocolFault::TooManyEvents { max: MAX_EVENTS }.into());
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
                        received: self.clock.elapsed(),
                    });
                }
                WorkerOutput::Garbage(malformed) => return Err(malformed.into()),
                WorkerOutput::Exited(how) => {
                    return Err(self.problem(ProtocolFault::Ended { op, how }));
                }
            }
        }
    }

    /// Returns an error if the request must not be answered by this kind of reply.
    fn check_reply_kind(&mut self, exchange: Exchange) -> Result<Exchange, Problem> {
        let reply = exchange.answer.reply();
        // The protocol defines no replies for unknown requests, so any reply is accepted.
        let request = REQUESTS.iter().find(|(name, _)| *name == exchange.op);
        if request.is_some_and(|(_, answers)| !answers.contains(&reply)) {
            let fault = ProtocolFault::wrong_answer(exchange.op, reply);
            return Err(Problem::from(fault).with_line(&exchange.line()));
        }
        self.tokens.extend(exchange.token().map(str::to_owned));
        Ok(exchange)
    }

    /// Waits for the next output of the adapter, or returns `None` if it takes longer than `patience` from `begun`.
    /// Other outputs in the meantime do not extend this time.
    async fn receive(&mut self, begun: Duration, patience: Duration) -> Option<WorkerOutput> {
        let until = begun + patience + self.engine_patience();
        let left = until.saturating_sub(self.clock.elapsed());
        if let Ok(output) = timeout(left, self.stdout.next()).await {
            return Some(output);
        }
        while self.clock.elapsed() < until + MAX_EXTENSION {
            let before = self.busy_time().await;
            if let Ok(output) = timeout(WINDOW, self.stdout.next()).await {
                return Some(output);
            }
            if self.busy_time().await.saturating_sub(before) < IDLE {
                return None;
            }
        }
        None
    }

    fn engine_patience(&self) -> Duration {
        if self.container.is_some() {
            ENGINE_PATIENCE
        } else {
            Duration::ZERO
        }
    }

    /// Returns the total time for which the adapter's processes have used a CPU, or were runnable and waited for one.
    async fn busy_time(&self) -> Duration {
        let living = self.living().await.unwrap_or_default();
        let busy = living.into_iter().map(|pid| {
            let ticks = ProcessStat::for_process(pid).map_or(0, |stat| stat.cpu_ticks);
            let used = TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
            used + Duration::from_nanos(cpu_waits(pid).values().sum())
        });
        busy.sum()
    }

    /// Creates the problem for a fault, with the adapter's incomplete line, if there is one.
    fn problem(&self, fault: ProtocolFault) -> Problem {
        let (problem, unfinished) = (Problem::from(fault), self.stdout.unfinished());
        if unfinished.is_empty() {
            problem
        } else {
            problem.with_line(&unfinished)
        }
    }

    /// Removes and returns the events since the last call.
    ///
    /// # Errors
    /// Returns an error if an event has a token that was never granted.
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

    /// Returns the addresses to which the adapter's processes are connected.
    ///
    /// # Errors
    /// Returns an error if the connections cannot be listed.
    pub(super) async fn peers(&self) -> Result<BTreeSet<SocketAddr>, String> {
        let living = match &self.container {
            // The process that carries the streams is connected to the engine.
            Some(container) => container.processes().await.into_iter().collect(),
            None => self.living().await.map_err(|error| error.to_string())?,
        };
        peers_of(&living).map_err(|error| error.to_string())
    }

    /// Closes the adapter's input, waits for its exit, and finds the processes that it leaves behind.
    pub(super) async fn end_input(&mut self) -> EndSeen {
        // Record the descendants now, so that they can still be found after the exit.
        let _ = self.living().await;
        self.stdin = None;
        self.see_end().await
    }

    /// Sends SIGTERM to the adapter, waits for its exit, and finds the processes that it leaves behind.
    pub(super) async fn terminate(&mut self) -> EndSeen {
        let _ = self.living().await;
        // An adapter that cannot receive the signal does not end, which is reported.
        match &self.container {
            Some(container) => container.terminate().await.unwrap_or_default(),
            None => self.control.terminate().await.unwrap_or_default(),
        }
        self.see_end().await
    }

    /// Returns `true` if the adapter runs in a container.
    pub(super) fn is_contained(&self) -> bool {
        self.container.is_some()
    }

    /// Waits for the adapter's exit, and finds the processes that it leaves behind.
    async fn see_end(&self) -> EndSeen {
        let within = END_PATIENCE + self.engine_patience();
        let how = timeout(within, self.control.exited()).await.ok();
        let begun = self.clock.elapsed();
        let mut living = self.control.living().await.unwrap_or_default();
        while how.is_some()
            && !living.is_empty()
            && self.clock.elapsed().saturating_sub(begun) < FOLLOW_PATIENCE
        {
            tokio::time::sleep(POLL_INTERVAL).await;
            living = self.control.living().await.unwrap_or_default();
        }
        let pid = self.control.pid();
        let left = living
            .into_iter()
            .filter(|other| *other != pid)
            .map(describe_process)
            .collect();
        EndSeen { how, within, left }
    }

    /// Returns the PIDs of the adapter's processes that are alive.
    async fn living(&self) -> Result<Vec<u32>, ProcessError> {
        let mut living = self.control.living().await?;
        if let Some(container) = &self.container {
            living.extend(container.processes().await);
        }
        Ok(living)
    }

    pub(super) async fn kill(&mut self) {
        if let Some(container) = &self.container {
            // A container that cannot be removed now is removed after all checks.
            let _ = container.remove().await;
        }
        self.control.kill().await;
    }

    pub(super) fn last_lines(&self) -> Vec<String> {
        last_lines(&self.log, LAST_LINES)
    }
}

/// Describes a process, for example `sleep (4711)`.
fn describe_process(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{} ({pid})", name.trim())
}
