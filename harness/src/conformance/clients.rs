//! The two clients of a lock and the server that the checks use.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use picklock_scenarios::{LockFeature, LockKind};
use redis::aio::MultiplexedConnection;

use super::client::Client;
use super::exchange::Exchange;
use super::finding::{Mistake, Problem};
use super::keys::KeySnapshot;
use super::outcome::{Stop, Who};
use crate::adapter::message::{
    Answer, Init, Join, Mode, Notification, PROTOCOL, PROTOCOLS, RequestKind,
};
use crate::adapter::protocol_fault::ProtocolFault;
use crate::adapter::worker_command::WorkerCommand;
use crate::clock::{Clock, millis};
use crate::proxy::Proxy;
use crate::rng;
use crate::servers::{BackendError, Binary, Reaper, Servers, WorkerContainers};

/// Timeout of the adapter for a reply of Redis, which `init` contains.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// Longest time for which the checks wait until a released lock is free, for a lock that keeps its key on purpose.
const MAX_MIN_HOLD: Duration = Duration::from_secs(5);

/// Length of a lease as a multiple of the checks' lease time. It is longer than any check, even if a busy machine
/// delays the adapter.
pub(super) const LONG: f64 = 60.0;

/// The adapter under test, and the programs and settings of the checks.
#[derive(Debug, Clone)]
pub struct ConformanceSetup {
    /// The command that starts the adapter.
    pub worker: WorkerCommand,
    /// The options that the user passed with `--impl-option`.
    pub options: BTreeMap<String, String>,
    /// The lease time in the checks.
    pub lease: Duration,
    /// Seed from which the adapter's seeds are derived.
    pub seed: u64,
    /// The server program.
    pub server: Binary,
    /// The program of the clean-up helper, which calls [`run_reaper`](crate::servers::run_reaper).
    pub reaper: PathBuf,
    /// The helper's arguments.
    pub reaper_args: Vec<OsString>,
}

/// One of the two locks of a check. Every check has its own locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockName {
    First,
    Second,
}

/// Two clients, and the server and the clock of all checks.
pub(super) struct Clients {
    pub setup: ConformanceSetup,
    /// Creates the adapter's containers, or `None` if the adapter is a process of this machine.
    pub containers: Option<WorkerContainers>,
    pub logs: PathBuf,
    pub reaper: Reaper,
    pub servers: Servers,
    /// The proxy in front of the server.
    pub proxy: Proxy,
    /// The address at which the adapter reaches the proxy.
    pub address: SocketAddr,
    pub connection: MultiplexedConnection,
    pub clock: Clock,
    pub state: State,
}

/// State that changes from check to check.
#[derive(Default)]
pub(super) struct State {
    /// Name of the current check, from which the names of its locks are derived.
    check: &'static str,
    running: BTreeMap<Who, Client>,
    /// The first reply to `init`.
    pub ready: Option<Answer>,
    /// Number of processes that were started. Each process has its own log.
    starts: u32,
    is_frozen: bool,
    /// The number of permits that `init` states, or `None` for a lock that is not a semaphore.
    capacity: Option<u32>,
    /// The events of this check so far.
    events: Vec<Notification>,
    /// Whether `events` contains every event that is due.
    is_settled: bool,
}

impl Clients {
    pub(super) fn begin(&mut self, check: &'static str) {
        self.state.check = check;
        self.state.events.clear();
        self.state.is_settled = false;
    }

    pub(super) fn lock(&self, lock: LockName) -> String {
        let which = match lock {
            LockName::First => "",
            LockName::Second => ":other",
        };
        format!("picklock:{}{which}", self.state.check)
    }

    /// Sends `acquire` for the first lock, with `wait_ms` = 0 and a lease that does not end during the check.
    pub(super) async fn take(&mut self, who: Who) -> Result<Exchange, Stop> {
        self.acquire(who, LockName::First, LONG, 0).await
    }

    /// Like [`Self::take`], for a reader.
    pub(super) async fn take_shared(&mut self, who: Who) -> Result<Exchange, Stop> {
        let mut request = self.acquire_request(LockName::First, LONG, 0);
        if let RequestKind::Acquire { mode, .. } = &mut request {
            *mode = Some(Mode::Shared);
        }
        self.ask(who, request).await
    }

    /// Like [`Self::take`], for this many permits of a semaphore.
    pub(super) async fn take_permits(&mut self, who: Who, count: u32) -> Result<Exchange, Stop> {
        let mut request = self.acquire_request(LockName::First, LONG, 0);
        if let RequestKind::Acquire { permits, .. } = &mut request {
            *permits = Some(count);
        }
        self.ask(who, request).await
    }

    /// Ends both clients. Their next `init` states this number of permits.
    pub(super) async fn restart_with(&mut self, capacity: Option<u32>) {
        for who in [Who::One, Who::Two] {
            self.kill(who).await;
        }
        self.state.capacity = capacity;
    }

    /// Sends `acquire`, for a multiple of the checks' lease time.
    pub(super) async fn acquire(
        &mut self,
        who: Who,
        lock: LockName,
        leases: f64,
        wait_ms: u64,
    ) -> Result<Exchange, Stop> {
        let request = self.acquire_request(lock, leases, wait_ms);
        self.ask(who, request).await
    }

    /// Sends `extend` for the first lock. Fails if the lock was not granted.
    pub(super) async fn extend(
        &mut self,
        who: Who,
        grant: &Exchange,
        leases: f64,
    ) -> Result<Exchange, Stop> {
        let (key, ttl_ms) = (self.lock(LockName::First), self.ttl_ms(leases));
        let token = grant.granted()?.to_owned();
        let ask = RequestKind::Extend { key, token, ttl_ms };
        self.ask(who, ask).await
    }

    /// Sends `release` for the first lock. Fails if the lock was not granted.
    pub(super) async fn release(&mut self, who: Who, grant: &Exchange) -> Result<Exchange, Stop> {
        let token = grant.granted()?.to_owned();
        self.ask(who, self.release_request(token)).await
    }

    /// Sends a request, and returns it with its reply. After a release, waits until the lock has no reason to keep its
    /// key.
    pub(super) async fn ask(&mut self, who: Who, ask: RequestKind) -> Result<Exchange, Stop> {
        // A command to a frozen server fails after its timeout, and a second one may follow.
        let wait = if self.state.is_frozen {
            COMMAND_TIMEOUT * 2
        } else {
            Duration::ZERO
        };
        let exchange = self.client(who).await?.ask(ask, wait).await;
        let exchange = exchange.map_err(|problem| Stop::RequestAborted(who, problem))?;
        let is_released =
            matches!(&exchange.answer, Answer::Released { released } if *released != Some(false));
        if is_released {
            tokio::time::sleep(self.declared().0.min(MAX_MIN_HOLD)).await;
        }
        Ok(exchange)
    }

    /// Returns the times that the adapter has declared: for how long the lock keeps its key after a release, and how
    /// much longer than the lease its key lives.
    pub(super) fn declared(&self) -> (Duration, Duration) {
        let Some(Answer::Ready {
            min_hold_ms,
            lease_margin_ms,
            ..
        }) = &self.state.ready
        else {
            return (Duration::ZERO, Duration::ZERO);
        };
        let time = |ms: &Option<u64>| Duration::from_millis(ms.unwrap_or(0));
        (time(min_hold_ms), time(lease_margin_ms))
    }

    /// Sends a request for one of the clients of a process, or for its only client, without waiting for the reply.
    pub(super) async fn send(
        &mut self,
        who: Who,
        client: Option<usize>,
        ask: RequestKind,
    ) -> Result<u64, Stop> {
        Ok(self.client(who).await?.send(client, ask).await)
    }

    /// Returns the next reply to one of the requests that were sent. If no reply arrives, the problem is described by
    /// `if_silent`.
    pub(super) async fn next_reply(&mut self, who: Who, if_silent: &str) -> Result<Exchange, Stop> {
        let reply = self.client(who).await?.next_reply().await;
        let is_timeout = |problem: &Problem| matches!(&problem.mistake, Mistake::Protocol(fault) if matches!(**fault, ProtocolFault::NoAnswer { .. }));
        reply.map_err(|problem| {
            let problem = if is_timeout(&problem) {
                Problem::new(if_silent)
            } else {
                problem
            };
            Stop::RequestAborted(who, problem)
        })
    }

    /// Returns `true` if the adapter offers this feature.
    pub(super) fn offers(&self, feature: LockFeature) -> bool {
        matches!(&self.state.ready, Some(Answer::Ready { offers, .. }) if offers.has(feature))
    }

    /// Returns `true` if several clients can hold the lock at the same time, so its key has no lease of one holder.
    pub(super) fn has_several_holders(&self) -> bool {
        self.offers(LockFeature::Permits) || self.offers(LockFeature::SharedMode)
    }

    /// Returns `true` if the adapter answers `act`.
    pub(super) fn is_leader(&self) -> bool {
        matches!(&self.state.ready, Some(Answer::Ready { offers, .. }) if offers.is(LockKind::Leader))
    }

    pub(super) fn join_request(&self) -> RequestKind {
        RequestKind::Join(Join {
            nodes: vec![format!("redis://{}", self.address)],
            seed: self.setup.seed,
        })
    }

    /// Returns a `release` request for the first lock.
    pub(super) fn release_request(&self, token: String) -> RequestKind {
        let key = self.lock(LockName::First);
        RequestKind::Release { key, token }
    }

    /// Returns an `acquire` request for this lock.
    pub(super) fn acquire_request(&self, lock: LockName, leases: f64, wait_ms: u64) -> RequestKind {
        RequestKind::Acquire {
            mode: None,
            permits: None,
            key: self.lock(lock),
            ttl_ms: self.ttl_ms(leases),
            wait_ms,
        }
    }

    /// Sends a request that is not part of the protocol, with an `id`, and returns it with its reply.
    pub(super) async fn ask_raw(
        &mut self,
        who: Who,
        op: &'static str,
        request: serde_json::Value,
    ) -> Result<Exchange, Stop> {
        let exchange = self.client(who).await?.ask_raw(op, request).await;
        exchange.map_err(|problem| Stop::RequestAborted(who, problem))
    }

    /// Returns all events of both clients since the check began.
    ///
    /// Sends a last `ping` to each process first, so that all earlier events have arrived. This also detects a second
    /// answer to a request.
    pub(super) async fn events(&mut self) -> Result<&[Notification], Stop> {
        let State {
            running,
            events,
            is_settled,
            ..
        } = &mut self.state;
        if !std::mem::replace(is_settled, true) {
            for (who, client) in running {
                let broken = |problem| Stop::RequestAborted(*who, problem);
                client
                    .ask(RequestKind::Ping, Duration::ZERO)
                    .await
                    .map_err(broken)?;
                events.extend(client.take_events().map_err(broken)?);
            }
        }
        Ok(events)
    }

    /// Returns `true` if the holder of a grant has received `lost`.
    pub(super) async fn is_notified_of_loss(&mut self, grant: &Exchange) -> Result<bool, Stop> {
        let is_lost = |event: &Notification| matches!(event, Notification::Lost { token, .. } if Some(token.as_str()) == grant.token());
        Ok(self.events().await?.iter().any(is_lost))
    }

    /// Waits for a multiple of the lease time.
    pub(super) async fn wait(&self, leases: f64) {
        tokio::time::sleep(self.setup.lease.mul_f64(leases)).await;
    }

    pub(super) async fn keys(&mut self) -> Result<KeySnapshot, Stop> {
        Ok(KeySnapshot::take(&mut self.connection, &self.clock).await?)
    }

    /// Removes the keys that were written since the snapshot `before`.
    pub(super) async fn remove_keys_since(&mut self, before: &KeySnapshot) -> Result<(), Stop> {
        let now = self.keys().await?;
        for key in now.written_since(before).into_keys() {
            let mut delete = redis::cmd("DEL");
            let _: i64 = delete.arg(key).query_async(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Freezes the server, which then still accepts connections but does not answer.
    pub(super) async fn freeze_server(&mut self) -> Result<(), Stop> {
        self.servers.pause(0).await?;
        self.state.is_frozen = true;
        Ok(())
    }

    /// Thaws the server, if it is frozen.
    pub(super) async fn thaw_server(&mut self) -> Result<(), BackendError> {
        if std::mem::take(&mut self.state.is_frozen) {
            self.servers.resume(0).await?;
        }
        Ok(())
    }

    /// Returns the client's process, and starts it if it is not running.
    pub(super) async fn client(&mut self, who: Who) -> Result<&mut Client, Stop> {
        self.state.is_settled = false;
        if !self.state.running.contains_key(&who) {
            self.start(who).await?;
        }
        let client = self.state.running.get_mut(&who);
        Ok(client.unwrap_or_else(|| unreachable!("it was started")))
    }

    /// Starts the process, and sends it `init`.
    pub(super) async fn start(&mut self, who: Who) -> Result<Exchange, Stop> {
        let worker = who as usize;
        self.state.starts += 1;
        let log = (self.logs).join(format!("worker-{worker}-{}.log", self.state.starts));
        let container = match &self.containers {
            Some(containers) => Some(containers.create(worker).await?),
            None => None,
        };
        let command = &self.setup.worker;
        let mut client = Client::start(command, container, &log, &self.reaper, &self.clock).await?;
        let init = RequestKind::Init(Init {
            protocols: PROTOCOLS.to_vec(),
            protocol: PROTOCOL,
            worker,
            nodes: vec![format!("redis://{}", self.address)],
            timeout_ms: millis(COMMAND_TIMEOUT),
            seed: rng::derive(self.setup.seed, "conformance", worker as u64),
            options: self.setup.options.clone(),
            warm_up: None,
            ttl_ms: None,
            capacity: self.state.capacity,
        });
        let reply = client.ask(init, Duration::ZERO).await;
        self.state.running.insert(who, client);
        let ready = reply.map_err(|problem| Stop::RequestAborted(who, problem))?;
        if let Answer::Error { message, .. } = &ready.answer {
            let what = format!("it answered `init` with `error`: {message}");
            return Err(Stop::RequestAborted(
                who,
                ready.problem(what).with_mistake(Mistake::NotReady),
            ));
        }
        self.state.ready.get_or_insert_with(|| ready.answer.clone());
        Ok(ready)
    }

    /// Kills a process, if it runs. Returns the last lines of its log.
    pub(super) async fn kill(&mut self, who: Who) -> Vec<String> {
        let Some(mut client) = self.state.running.remove(&who) else {
            return Vec::new();
        };
        client.kill().await;
        client.last_lines()
    }

    /// Ends the clients, the proxy, the containers and the server.
    ///
    /// # Errors
    /// Returns an error if the server could not be stopped.
    pub(super) async fn end(mut self) -> Result<(), BackendError> {
        for who in [Who::One, Who::Two] {
            self.kill(who).await;
        }
        self.proxy.close().await;
        if let Some(containers) = self.containers.take() {
            containers.end().await;
        }
        self.servers.stop().await
    }

    fn ttl_ms(&self, leases: f64) -> u64 {
        millis(self.setup.lease.mul_f64(leases))
    }
}
