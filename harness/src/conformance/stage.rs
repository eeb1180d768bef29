//! Plays the script of a check, and keeps what is seen.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use serde_json::json;

use super::check::Check;
use super::client::{Client, StartError};
use super::conformance_error::ConformanceError;
use super::evidence::{Evidence, Exchange};
use super::finding::{Judgement, Problem};
use super::key_look;
use super::script::{LockName, Say, Step, Who};
use crate::adapter::message::{Answer, PROTOCOL, RequestKind};
use crate::clock::Clock;
use crate::entropy;
use crate::servers::{BackendError, ProcessServers, Reaper, Servers, WorkerContainers};
use crate::wire::Proxy;

/// What the adapter is told to wait for an answer of Redis.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// Server, adapter and clock of all checks.
pub(super) struct Stage {
    pub argv: Vec<String>,
    /// Where the adapter's containers come from; `None`: it is a process of this machine.
    pub containers: Option<WorkerContainers>,
    pub options: BTreeMap<String, String>,
    pub lease: Duration,
    pub seed: u64,
    pub logs: PathBuf,
    pub reaper: Reaper,
    pub servers: ProcessServers,
    /// What leads to the server, and where the adapter reaches it.
    pub wire: Proxy,
    pub address: SocketAddr,
    pub connection: MultiplexedConnection,
    pub clock: Clock,
    /// The processes that run.
    pub clients: BTreeMap<Who, Client>,
    /// The newest answer to `init`.
    pub ready: Option<Answer>,
    /// How many processes were started: each has a log of its own.
    pub starts: u32,
    /// True while the server is frozen.
    pub is_frozen: bool,
}

/// How a check came out.
pub(super) type Played = Result<Judgement, Problem>;

/// Why a script ends.
enum Stop {
    /// The adapter did something wrong.
    Fault(Who, Problem),
    /// The check itself cannot go on.
    Broken(ConformanceError),
    /// A grant that a step needs is not there. The judge says why.
    Short,
}

impl From<StartError> for Stop {
    fn from(error: StartError) -> Self {
        Stop::Broken(error.into())
    }
}

impl From<BackendError> for Stop {
    fn from(error: BackendError) -> Self {
        Stop::Broken(error.into())
    }
}

impl From<redis::RedisError> for Stop {
    fn from(error: redis::RedisError) -> Self {
        Stop::Broken(error.into())
    }
}

impl Stage {
    /// Plays one check. With the end of the adapter's log, if it broke the protocol and was ended.
    ///
    /// # Errors
    /// The check could not be made.
    pub(super) async fn play(
        &mut self,
        check: &Check,
    ) -> Result<(Played, Vec<String>), ConformanceError> {
        let mut evidence = Evidence {
            lease: self.lease,
            locks: ["", ":other"].map(|which| format!("picklock:{}{which}", check.name)),
            node: Some(self.address),
            ..Evidence::default()
        };
        let played = self.script(check, &mut evidence).await;
        // Whatever happened, the next check finds a server that answers.
        self.thaw().await?;
        let played = match played {
            Ok(()) => self.settle(&mut evidence).await,
            other => other,
        };
        match played {
            Ok(()) | Err(Stop::Short) => Ok(((check.judge)(&evidence), Vec::new())),
            Err(Stop::Fault(who, problem)) => {
                let log = self.dismiss(who).await;
                Ok((Err(problem), log))
            }
            Err(Stop::Broken(error)) => Err(error),
        }
    }

    async fn script(&mut self, check: &Check, evidence: &mut Evidence) -> Result<(), Stop> {
        for step in check.script {
            match *step {
                Step::Start(who, label) => {
                    let exchange = self.start(who).await?;
                    evidence.exchanges.insert(label, exchange);
                }
                Step::RequestKind(who, say, label) => {
                    let exchange = self.ask(who, say, evidence).await?;
                    evidence.exchanges.insert(label, exchange);
                }
                Step::Babble(who) => self.client(who).await?.babble().await,
                Step::PingOrEnd(who) => self.ping_or_end(who, evidence).await?,
                Step::Wait(leases) => tokio::time::sleep(self.lease.mul_f64(leases)).await,
                Step::LookAtKeys(label) => {
                    let seen = key_look::look(&mut self.connection, &self.clock).await?;
                    evidence.keys.insert(label, seen);
                }
                Step::RemoveKeysSince(label) => {
                    let now = key_look::look(&mut self.connection, &self.clock).await?;
                    evidence.keys.insert("removed", now);
                    let written = evidence.written(label, "removed");
                    let keys = written.unwrap_or_default().into_keys();
                    key_look::remove(&mut self.connection, keys).await?;
                }
                Step::LookAtPeers(who, label) => {
                    let peers = self.client(who).await?.peers().await;
                    evidence.peers.insert(label, peers);
                }
                Step::FreezeServer => {
                    self.servers.pause(0).await?;
                    self.is_frozen = true;
                }
                Step::ThawServer => self.thaw().await?,
                Step::EndInput(who, label) => {
                    let end = self.client(who).await?.end_input().await;
                    evidence.ends.insert(label, end);
                    self.dismiss(who).await;
                }
            }
        }
        Ok(())
    }

    async fn thaw(&mut self) -> Result<(), BackendError> {
        match std::mem::take(&mut self.is_frozen) {
            true => self.servers.resume(0).await,
            false => Ok(()),
        }
    }

    async fn ping_or_end(&mut self, who: Who, evidence: &mut Evidence) -> Result<(), Stop> {
        let client = self.client(who).await?;
        let Err(problem) = client.ask(RequestKind::Ping, Duration::ZERO).await else {
            return Ok(());
        };
        let Some(how) = client.how_it_ended() else {
            return Err(Stop::Fault(who, problem));
        };
        evidence.gave_up = Some(how.to_owned());
        self.dismiss(who).await;
        Ok(())
    }

    async fn ask(&mut self, who: Who, say: Say, evidence: &mut Evidence) -> Result<Exchange, Stop> {
        let lease = self.lease;
        let ttl_ms =
            |leases: f64| u64::try_from(lease.mul_f64(leases).as_millis()).unwrap_or(u64::MAX);
        let ask = match say {
            Say::Acquire {
                lock,
                leases,
                wait_ms,
            } => RequestKind::Acquire {
                key: evidence.lock(lock).to_owned(),
                ttl_ms: ttl_ms(leases),
                wait_ms,
            },
            Say::Extend { of, leases } => RequestKind::Extend {
                key: evidence.lock(LockName::First).to_owned(),
                token: token(evidence, of)?,
                ttl_ms: ttl_ms(leases),
            },
            Say::Release { of } => RequestKind::Release {
                key: evidence.lock(LockName::First).to_owned(),
                token: token(evidence, of)?,
            },
            Say::Ping | Say::PingAs(_) | Say::PingWithUnknownField | Say::UnknownOp => {
                RequestKind::Ping
            }
        };
        // A command to a frozen server fails after its time, and a second one may follow.
        let wait = match self.is_frozen {
            true => COMMAND_TIMEOUT * 2,
            false => Duration::ZERO,
        };
        let client = self.client(who).await?;
        let asked = match say {
            Say::PingAs(id) => client.ping_as(id).await,
            Say::PingWithUnknownField => {
                let odd = json!({"op": "ping", "colour": {"of": ["no", "meaning"]}});
                client.ask_oddly("ping", odd).await
            }
            Say::UnknownOp => client.ask_oddly("dance", json!({"op": "dance"})).await,
            _ => client.ask(ask, wait).await,
        };
        asked.map_err(|problem| Stop::Fault(who, problem))
    }

    /// The process, started where it does not run.
    async fn client(&mut self, who: Who) -> Result<&mut Client, Stop> {
        if !self.clients.contains_key(&who) {
            self.start(who).await?;
        }
        self.clients.get_mut(&who).ok_or(Stop::Short)
    }

    async fn start(&mut self, who: Who) -> Result<Exchange, Stop> {
        let worker = who as usize;
        self.starts += 1;
        let log = self
            .logs
            .join(format!("worker-{worker}-{}.log", self.starts));
        let container = match &self.containers {
            Some(containers) => Some(containers.create(worker).await?),
            None => None,
        };
        let client = Client::start(&self.argv, container, &log, &self.reaper, &self.clock);
        let client = client.await?;
        self.clients.insert(who, client);
        let client = self.clients.get_mut(&who).ok_or(Stop::Short)?;
        let init = RequestKind::Init {
            protocol: PROTOCOL,
            worker,
            nodes: vec![format!("redis://{}", self.address)],
            timeout_ms: u64::try_from(COMMAND_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
            seed: entropy::derive(self.seed, "conformance", worker as u64),
            options: self.options.clone(),
        };
        let ready = client.init(init).await;
        let ready = ready.map_err(|problem| Stop::Fault(who, problem))?;
        if let Answer::Error { message, .. } = &ready.answer {
            let what = format!("it answered `init` with `error`: {message}");
            let problem = Problem::new(what).with_line(&ready.line());
            return Err(Stop::Fault(who, problem));
        }
        self.ready = Some(ready.answer.clone());
        Ok(ready)
    }

    /// Collects the events, and hears whether a request is answered a second time: each process
    /// answers a last `ping`.
    async fn settle(&mut self, evidence: &mut Evidence) -> Result<(), Stop> {
        for (who, client) in &mut self.clients {
            let fault = |problem| Stop::Fault(*who, problem);
            client
                .ask(RequestKind::Ping, Duration::ZERO)
                .await
                .map_err(fault)?;
            let events = client.take_events().map_err(fault)?;
            evidence
                .events
                .extend(events.into_iter().map(|event| (*who, event)));
        }
        Ok(())
    }

    /// Kills a process. Returns the end of its log.
    async fn dismiss(&mut self, who: Who) -> Vec<String> {
        let Some(mut client) = self.clients.remove(&who) else {
            return Vec::new();
        };
        client.kill().await;
        client.last_lines()
    }

    /// Kills all processes.
    pub(super) async fn clear(&mut self) {
        for who in [Who::One, Who::Two] {
            self.dismiss(who).await;
        }
    }
}

/// The newest token of a grant: an extension may have given it another one.
fn token(evidence: &Evidence, of: &'static str) -> Result<String, Stop> {
    let extended = evidence.exchanges.get("extend").and_then(Exchange::token);
    let granted = evidence.exchanges.get(of).and_then(Exchange::token);
    let token = granted.map(|granted| extended.unwrap_or(granted));
    token.map(str::to_owned).ok_or(Stop::Short)
}
