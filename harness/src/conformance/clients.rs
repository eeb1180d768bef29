//! Two clients of a lock and the server that they use, as a check asks them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use picklock_scenarios::LockFeature;
use redis::aio::MultiplexedConnection;

use super::client::Client;
use super::exchange::Exchange;
use super::finding::{Mistake, Problem};
use super::keys::KeysSeen;
use super::outcome::{Stop, Who};
use crate::adapter::message::{Answer, Init, Join, Notification, PROTOCOL, PROTOCOLS, RequestKind};
use crate::adapter::protocol_fault::ProtocolFault;
use crate::adapter::worker_command::WorkerCommand;
use crate::clock::{Clock, millis};
use crate::proxy::Proxy;
use crate::rng;
use crate::servers::{BackendError, Binary, Reaper, Servers, WorkerContainers};

/// What the adapter is told to wait for an answer of Redis.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// So many leases last longer than a check waits for an adapter that a busy machine keeps waiting.
pub(super) const LONG: f64 = 60.0;

/// What is checked, and with what.
#[derive(Debug, Clone)]
pub struct ConformanceSetup {
    /// What starts the adapter.
    pub worker: WorkerCommand,
    /// What the user gave with `--impl-option`.
    pub options: BTreeMap<String, String>,
    /// The lease of the checks.
    pub lease: Duration,
    /// For the seeds that the adapter is given.
    pub seed: u64,
    /// The server program.
    pub server: Binary,
    /// The program of the clean-up helper, which calls [`run_reaper`](crate::servers::run_reaper).
    pub reaper: PathBuf,
    /// The helper's arguments.
    pub reaper_args: Vec<OsString>,
}

/// One of the two locks of a check. No other check has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockName {
    First,
    Second,
}

/// Two clients, and the server and the clock of all checks.
pub(super) struct Clients {
    pub setup: ConformanceSetup,
    /// Where the adapter's containers come from; `None`: it is a process of this machine.
    pub containers: Option<WorkerContainers>,
    pub logs: PathBuf,
    pub reaper: Reaper,
    pub servers: Servers,
    /// What leads to the server, and where the adapter reaches it.
    pub proxy: Proxy,
    pub address: SocketAddr,
    pub connection: MultiplexedConnection,
    pub clock: Clock,
    pub state: State,
}

/// What changes from check to check.
#[derive(Default)]
pub(super) struct State {
    /// The check, which gives its locks their names.
    check: &'static str,
    running: BTreeMap<Who, Client>,
    /// The first answer to `init`.
    pub ready: Option<Answer>,
    /// How many processes were started: each has a log of its own.
    starts: u32,
    is_frozen: bool,
    /// The events of this check, and whether all that had to come by now have.
    events: Vec<Notification>,
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

    /// `acquire` of the first lock, at once, for a lease that does not end during the check.
    pub(super) async fn take(&mut self, who: Who) -> Result<Exchange, Stop> {
        self.acquire(who, LockName::First, LONG, 0).await
    }

    /// `acquire`, for so many leases of the checks.
    pub(super) async fn acquire(
        &mut self,
        who: Who,
        lock: LockName,
        leases: f64,
        wait_ms: u64,
    ) -> Result<Exchange, Stop> {
        let ask = self.asking(lock, leases, wait_ms);
        self.ask(who, ask).await
    }

    /// `extend` of the first lock. It is an error if that was not granted.
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

    /// `release` of the first lock. It is an error if that was not granted.
    pub(super) async fn release(&mut self, who: Who, grant: &Exchange) -> Result<Exchange, Stop> {
        let token = grant.granted()?.to_owned();
        self.ask(who, self.release_of(token)).await
    }

    pub(super) async fn ask(&mut self, who: Who, ask: RequestKind) -> Result<Exchange, Stop> {
        // A command to a frozen server fails after its time, and a second one may follow.
        let wait = match self.state.is_frozen {
            true => COMMAND_TIMEOUT * 2,
            false => Duration::ZERO,
        };
        let asked = self.client(who).await?.ask(ask, wait).await;
        asked.map_err(|problem| Stop::RequestAborted(who, problem))
    }

    /// Sends a request of one of the clients of a process, or of its only one, and does not wait for the answer.
    pub(super) async fn send(
        &mut self,
        who: Who,
        client: Option<usize>,
        ask: RequestKind,
    ) -> Result<u64, Stop> {
        Ok(self.client(who).await?.send(client, ask).await)
    }

    /// The next answer to one of the requests that were sent. `if_silent`: what it shows if none comes.
    pub(super) async fn answer(&mut self, who: Who, if_silent: &str) -> Result<Exchange, Stop> {
        let answer = self.client(who).await?.answer().await;
        let is_silence = |problem: &Problem| matches!(&problem.mistake, Mistake::Protocol(fault) if matches!(**fault, ProtocolFault::NoAnswer { .. }));
        answer.map_err(|problem| match is_silence(&problem) {
            true => Stop::RequestAborted(who, Problem::new(if_silent)),
            false => Stop::RequestAborted(who, problem),
        })
    }

    /// True if the adapter says that it offers this.
    pub(super) fn offers(&self, feature: LockFeature) -> bool {
        matches!(&self.state.ready, Some(Answer::Ready { offers, .. }) if offers.has(feature))
    }

    /// What a client of a process begins with.
    pub(super) fn join(&self) -> RequestKind {
        RequestKind::Join(Join {
            nodes: vec![format!("redis://{}", self.address)],
            seed: self.setup.seed,
        })
    }

    /// What `release` of the first lock is.
    pub(super) fn release_of(&self, token: String) -> RequestKind {
        let key = self.lock(LockName::First);
        RequestKind::Release { key, token }
    }

    /// What `acquire` of this lock is.
    pub(super) fn asking(&self, lock: LockName, leases: f64, wait_ms: u64) -> RequestKind {
        RequestKind::Acquire {
            key: self.lock(lock),
            ttl_ms: self.ttl_ms(leases),
            wait_ms,
        }
    }

    /// The same for a request that is none of the protocol's. Its id is added.
    pub(super) async fn ask_oddly(
        &mut self,
        who: Who,
        op: &'static str,
        request: serde_json::Value,
    ) -> Result<Exchange, Stop> {
        let asked = self.client(who).await?.ask_oddly(op, request).await;
        asked.map_err(|problem| Stop::RequestAborted(who, problem))
    }

    /// The events of both since the check began. All that had to come by now are among them.
    ///
    /// It also hears whether a request is answered a second time: each process answers a last `ping`.
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
                let asked = client.ask(RequestKind::Ping, Duration::ZERO).await;
                asked.map_err(broken)?;
                events.extend(client.take_events().map_err(broken)?);
            }
        }
        Ok(events)
    }

    pub(super) async fn hears_of_loss(&mut self, grant: &Exchange) -> Result<bool, Stop> {
        let is_lost = |event: &Notification| matches!(event, Notification::Lost { token, .. } if Some(token.as_str()) == grant.token());
        Ok(self.events().await?.iter().any(is_lost))
    }

    /// Lets so many leases pass.
    pub(super) async fn wait(&self, leases: f64) {
        tokio::time::sleep(self.setup.lease.mul_f64(leases)).await;
    }

    pub(super) async fn keys(&mut self) -> Result<KeysSeen, Stop> {
        Ok(KeysSeen::look(&mut self.connection, &self.clock).await?)
    }

    /// Removes the keys that were written since that look.
    pub(super) async fn remove_keys_since(&mut self, before: &KeysSeen) -> Result<(), Stop> {
        let now = self.keys().await?;
        for key in now.written_since(before).into_keys() {
            let mut delete = redis::cmd("DEL");
            let _: i64 = delete.arg(key).query_async(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Freezes the server: it accepts connections, and answers nothing.
    pub(super) async fn freeze_server(&mut self) -> Result<(), Stop> {
        self.servers.pause(0).await?;
        self.state.is_frozen = true;
        Ok(())
    }

    /// Lets it answer again, if it is frozen.
    pub(super) async fn thaw_server(&mut self) -> Result<(), BackendError> {
        match std::mem::take(&mut self.state.is_frozen) {
            true => self.servers.resume(0).await,
            false => Ok(()),
        }
    }

    /// The process, started where it does not run.
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
        let client = Client::start(command, container, &log, &self.reaper, &self.clock);
        let mut client = client.await?;
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
        });
        let ready = client.ask(init, Duration::ZERO).await;
        self.state.running.insert(who, client);
        let ready = ready.map_err(|problem| Stop::RequestAborted(who, problem))?;
        if let Answer::Error { message, .. } = &ready.answer {
            let what = format!("it answered `init` with `error`: {message}");
            return Err(Stop::RequestAborted(
                who,
                ready.shows(what).of(Mistake::NotReady),
            ));
        }
        self.state.ready.get_or_insert_with(|| ready.answer.clone());
        Ok(ready)
    }

    /// Kills a process, if it runs. Returns the end of its log.
    pub(super) async fn dismiss(&mut self, who: Who) -> Vec<String> {
        let Some(mut client) = self.state.running.remove(&who) else {
            return Vec::new();
        };
        client.kill().await;
        client.last_lines()
    }

    /// Ends everything. An error: the server could not be ended.
    pub(super) async fn end(mut self) -> Result<(), BackendError> {
        for who in [Who::One, Who::Two] {
            self.dismiss(who).await;
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
