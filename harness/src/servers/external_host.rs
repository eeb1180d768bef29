//! The servers of a run if they were started by someone else. Picklock only connects to them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{LocalBoxFuture, ready};
use memchr::memmem;
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisError, RedisResult, Value};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::error::io_error;
use super::external_fault::{ANSWER, ExternalFault, short};
use super::gateway::Gateway;
use super::server::{Host, KeyReport, Server, ServerFuture};
use super::server_order::ServerOrder;
use super::upstream::{Upstream, line};
use super::{BackendError, Password, ServerAddress};
use crate::clock::Clock;
use crate::external_servers::{DEFAULT_PREFIX, ExternalServer, ExternalServers};
use crate::record;

/// Number of keys that a server examines for each `SCAN`.
const KEYS_AT_ONCE: &str = "1000";

/// Maximum number of `SCAN` commands in a search: enough for a thousand million keys.
const MAX_PAGES: usize = 1_000_000;

/// Maximum duration of a search.
const SEARCH: Duration = Duration::from_secs(60);

/// Maximum duration of the examination of all servers.
const EXAMINATION: Duration = Duration::from_secs(120);

/// Maximum number of keys that a search may find.
const MAX_KEYS: usize = 1_000_000;

/// Maximum number of masters of a Redis Cluster.
const MAX_MASTERS: usize = 1000;

/// The result of examining a server, which happens before anything is written to it.
#[derive(Debug, Clone)]
pub struct ExaminedServer {
    /// Host and port of the server.
    pub place: String,
    /// Name and version of the server.
    pub redis: record::Redis,
    /// The events that the server reports about its keys.
    pub report: KeyReport,
    /// Keys of other runs, which are still in progress or were killed.
    pub other_runs: Vec<String>,
}

/// Returns the servers of a run: those that were given, or the masters of the Redis Cluster to which the first of them
/// belongs. Connects only to the first server, so that the user can confirm the addresses that this server announces
/// before anything else is contacted.
///
/// # Errors
/// Returns an error if the first server cannot be used, with the reason.
pub fn find_masters(servers: &ExternalServers) -> ServerFuture<'_, ExternalServers> {
    Box::pin(async move {
        let password = Password::fresh().map_err(io_error("create a password"))?;
        let upstream = Upstream::all(servers)?.swap_remove(0);
        let first = External::reach(upstream, password, servers).await?;
        let masters = first.masters().await;
        let masters = masters.map_err(|fault| first.upstream.error(fault))?;
        let is_cluster = masters.is_some();
        Ok(ExternalServers {
            servers: masters.unwrap_or_else(|| servers.servers.clone()),
            is_cluster,
            ..servers.clone()
        })
    })
}

/// Checks that servers can be used, without writing anything.
///
/// # Errors
/// Returns an error for the first server that cannot be used, with the reason.
pub fn examine(servers: &ExternalServers) -> ServerFuture<'_, Vec<ExaminedServer>> {
    Box::pin(async move {
        let password = Password::fresh().map_err(io_error("create a password"))?;
        let (mut examined, clock) = (Vec::new(), Clock::start());
        for upstream in Upstream::all(servers)? {
            let examining = async {
                let server = External::reach(Arc::clone(&upstream), password, servers).await?;
                let result = server.examine().await;
                result.map_err(|fault| server.upstream.error(fault))
            };
            let left = EXAMINATION.saturating_sub(clock.elapsed());
            let result = timeout(left, examining).await;
            examined.push(result.unwrap_or_else(|_| {
                let what = "the commands that examine the servers";
                Err(upstream.error(ExternalFault::timed_out(what, EXAMINATION)))
            })?);
        }
        Ok(examined)
    })
}

/// The servers of a run.
pub(super) struct ExternalHost {
    upstreams: Vec<Arc<Upstream>>,
    servers: ExternalServers,
}

impl ExternalHost {
    /// Creates a host for these servers.
    ///
    /// # Errors
    /// Returns an error if a file for TLS cannot be used.
    pub(super) fn new(servers: &ExternalServers) -> Result<ExternalHost, BackendError> {
        Ok(ExternalHost {
            upstreams: Upstream::all(servers)?,
            servers: servers.clone(),
        })
    }
}

impl Host for ExternalHost {
    fn start(&self, order: ServerOrder) -> ServerFuture<'_, Box<dyn Server>> {
        Box::pin(async move {
            if order.name != order.family {
                return Err(BackendError::NotOurs);
            }
            // The stock may be stored on a server that is also a node, because faults on links do not affect accesses
            // to the stock.
            let known = self.upstreams.get(order.node).or(self.upstreams.first());
            let upstream = Arc::clone(known.ok_or(BackendError::NotOurs)?);
            let mut server = External::reach(upstream, order.password, &self.servers).await?;
            let result = server.try_out().await;
            result.map_err(|fault| server.upstream.error(fault))?;
            Ok(Box::new(server) as Box<dyn Server>)
        })
    }
}

/// Data from a server's `HELLO` reply.
struct Hello {
    redis: record::Redis,
    /// `standalone`, `cluster` or `sentinel`.
    mode: String,
    role: String,
}

/// One server, reached through a port on loopback.
struct External {
    upstream: Arc<Upstream>,
    gateway: Gateway,
    prefix: String,
    /// Whether the server is one of the masters of a Redis Cluster.
    is_cluster: bool,
    identity: Option<record::Redis>,
    report: KeyReport,
}

impl External {
    /// Checks that the server answers, and opens a port that leads to it.
    async fn reach(
        upstream: Arc<Upstream>,
        password: Password,
        servers: &ExternalServers,
    ) -> Result<External, BackendError> {
        let answer = upstream.check_answers().await;
        answer.map_err(|fault| upstream.error(fault))?;
        let gateway = Gateway::open(Arc::clone(&upstream), password).await;
        Ok(External {
            gateway: gateway.map_err(io_error("listen on loopback"))?,
            upstream,
            prefix: servers.key_prefix(),
            is_cluster: servers.is_cluster,
            identity: None,
            report: KeyReport::Everything,
        })
    }

    async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, ExternalFault> {
        let answer = self.gateway.address().query(words, ANSWER).await;
        answer.map_err(|error| self.fault(words[0], &error))
    }

    /// Reads information about the server without writing anything, and checks that no keys have the run's prefix.
    async fn examine(&self) -> Result<ExaminedServer, ExternalFault> {
        let redis = self.identify().await?;
        let is_ours = |name: &Vec<u8>| memmem::find(name, self.prefix.as_bytes()).is_some();
        let search_prefix = if self.prefix.starts_with(DEFAULT_PREFIX) {
            DEFAULT_PREFIX
        } else {
            &self.prefix
        };
        let found = self.keys(search_prefix).await?;
        let (taken, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_ours);
        if let Some(example) = taken.first() {
            return Err(ExternalFault::PrefixTaken {
                url: self.upstream.server.to_string(),
                prefix: self.prefix.clone(),
                count: taken.len(),
                example: printable(example),
            });
        }
        Ok(ExaminedServer {
            place: self.upstream.server.place(),
            redis,
            report: self.key_report().await?,
            other_runs: others.iter().map(|name| printable(name)).collect(),
        })
    }

    /// Returns the masters of the Redis Cluster to which the server belongs, or `None` if it does not belong to one.
    async fn masters(&self) -> Result<Option<Vec<ExternalServer>>, ExternalFault> {
        if self.hello().await?.mode != "cluster" {
            return Ok(None);
        }
        let ranges: Vec<Value> = self.ask(&["CLUSTER", "SLOTS"]).await?;
        let mut masters = Vec::new();
        for range in ranges {
            // The first two values are slots. The third value begins with the host and port of the slots' master.
            let (_, _, master): (u64, u64, Vec<Value>) = match range {
                Value::Array(mut range) => {
                    range.truncate(3);
                    redis::from_redis_value(Value::Array(range))
                        .map_err(|error| ExternalFault::Refused(error.to_string()))?
                }
                _ => continue,
            };
            let [host, port, ..] = master.as_slice() else {
                continue;
            };
            let host: String = redis::from_redis_value_ref(host).unwrap_or_default();
            let host = short(&host);
            let known = &self.upstream.server;
            let master = ExternalServer {
                // A server without a configured host name sends an empty host name.
                host: Some(host)
                    .filter(|it| !it.is_empty())
                    .unwrap_or(known.host.clone()),
                port: redis::from_redis_value_ref(port).unwrap_or(known.port),
                ..known.clone()
            };
            if !masters.contains(&master) {
                masters.push(master);
            }
            if masters.len() > MAX_MASTERS {
                return Err(ExternalFault::Endless("CLUSTER SLOTS"));
            }
        }
        if masters.is_empty() {
            return Err(ExternalFault::Cluster("no server has any slots".into()));
        }
        Ok(Some(masters))
    }

    /// Sends `HELLO`, which every authenticated user may send.
    async fn hello(&self) -> Result<Hello, ExternalFault> {
        let reply: Result<HashMap<String, Value>, _> = self.ask(&["HELLO"]).await;
        let fields = reply.map_err(|fault| match fault {
            ExternalFault::Refused(_) => ExternalFault::TooOld,
            other => other,
        })?;
        let field = |name: &str| -> String {
            let value = fields.get(name).map(redis::from_redis_value_ref);
            let value: String = value.and_then(Result::ok).unwrap_or_default();
            short(&value)
        };
        Ok(Hello {
            redis: record::Redis {
                server: field("server"),
                version: field("version"),
            },
            mode: field("mode"),
            role: field("role"),
        })
    }

    /// Returns the name and version of the server, or an error if it does not accept writes.
    async fn identify(&self) -> Result<record::Redis, ExternalFault> {
        let hello = self.hello().await?;
        match (hello.mode.as_str(), hello.role.as_str()) {
            ("cluster", _) if !self.is_cluster => {
                Err(ExternalFault::Cluster("mode: cluster".into()))
            }
            ("sentinel", _) => Err(ExternalFault::Sentinel),
            (_, "replica" | "slave") => Err(ExternalFault::ReadOnly),
            _ => Ok(hello.redis),
        }
    }

    /// Writes a key and removes it again, as a lock would.
    async fn try_out(&mut self) -> Result<(), ExternalFault> {
        self.identity = Some(self.identify().await?);
        let key = format!("{}try", self.prefix);
        let life_ms = ANSWER.as_millis().to_string();
        for words in [&["SET", &key, "1", "PX", &life_ms][..], &["DEL", &key]] {
            match self.ask::<Value>(words).await {
                // The key belongs to another master.
                Err(ExternalFault::Cluster(_)) if self.is_cluster => {}
                answer => drop(answer?),
            }
        }
        self.report = self.key_report().await?;
        Ok(())
    }

    /// Determines the events that the server reports about its keys.
    async fn key_report(&self) -> Result<KeyReport, ExternalFault> {
        const EVENTS: &str = "notify-keyspace-events";
        let answer = self.line_for("MONITOR\r\n").await?;
        if let Some(refused) = answer.strip_prefix('-') {
            return Ok(KeyReport::Nothing(refused.to_owned()));
        }
        let config = self
            .ask::<HashMap<String, String>>(&["CONFIG", "GET", EVENTS])
            .await;
        let events = config
            .ok()
            .and_then(|mut config| config.remove(EVENTS))
            .unwrap_or_default();
        let has = |event| events.contains(event);
        if !has('E') || !(has('A') || has('x') && has('e')) {
            return Ok(KeyReport::Commands);
        }
        let subscribe = "PSUBSCRIBE __keyevent@*__:expired __keyevent@*__:evicted\r\n";
        let is_refused = self.line_for(subscribe).await?.starts_with('-');
        Ok(if is_refused {
            KeyReport::Commands
        } else {
            KeyReport::Everything
        })
    }

    /// Sends a command on a separate connection, and returns the first line of the reply.
    async fn line_for(&self, command: &str) -> Result<String, ExternalFault> {
        let exchange = async {
            let mut stream = self.gateway.address().connect().await?;
            stream.write_all(command.as_bytes()).await?;
            line(&mut stream).await
        };
        timeout(ANSWER, exchange)
            .await
            .map_err(|_| {
                let name = command.split_whitespace().next().unwrap_or_default();
                ExternalFault::timed_out(name, ANSWER)
            })?
            .map_err(|_| ExternalFault::Closed)
    }

    /// Returns the keys whose names contain `part`. Checks the names, because the server may list other keys. Returns
    /// an error if the server's list does not end.
    async fn keys(&self, part: &str) -> Result<Vec<Vec<u8>>, ExternalFault> {
        let endless = Err(ExternalFault::Endless("SCAN"));
        timeout(SEARCH, self.scan(part)).await.unwrap_or(endless)
    }

    async fn scan(&self, part: &str) -> Result<Vec<Vec<u8>>, ExternalFault> {
        let (pattern, mut cursor) = (format!("*{part}*"), "0".to_owned());
        let mut connection = self.connection().await?;
        let mut keys = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut scan = redis::cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(&pattern);
            scan.arg("COUNT").arg(KEYS_AT_ONCE);
            let page: RedisResult<(String, Vec<Vec<u8>>)> = scan.query_async(&mut connection).await;
            let (next, page) = page.map_err(|error| self.fault("SCAN", &error))?;
            let is_meant = |name: &Vec<u8>| memmem::find(name, part.as_bytes()).is_some();
            keys.extend(page.into_iter().filter(is_meant));
            if next == "0" {
                return Ok(keys);
            }
            if next == cursor || keys.len() > MAX_KEYS {
                break;
            }
            cursor = next;
        }
        Err(ExternalFault::Endless("SCAN"))
    }

    /// Removes the run's keys, within a limited time.
    async fn clean(&self) -> Result<(), ExternalFault> {
        let timed_out = Err(ExternalFault::timed_out("SCAN and DEL", SEARCH));
        timeout(SEARCH, self.remove_keys())
            .await
            .unwrap_or(timed_out)
    }

    /// Removes the run's keys. Searches for keys twice, because a client's last command may arrive late.
    async fn remove_keys(&self) -> Result<(), ExternalFault> {
        for _ in 0..2 {
            let mut connection = self.connection().await?;
            for key in self.keys(&self.prefix).await? {
                let mut delete = redis::cmd("DEL");
                let deleted: RedisResult<()> = delete.arg(key).query_async(&mut connection).await;
                deleted.map_err(|error| self.fault("DEL", &error))?;
            }
        }
        Ok(())
    }

    async fn connection(&self) -> Result<MultiplexedConnection, ExternalFault> {
        let connection = self.gateway.address().connection(ANSWER).await;
        connection.map_err(|error| self.fault("a connection with AUTH", &error))
    }

    fn fault(&self, command: &str, error: &RedisError) -> ExternalFault {
        ExternalFault::from_reply(error, command, &self.prefix)
    }
}

impl Server for External {
    fn address(&self) -> ServerAddress {
        self.gateway.address()
    }

    fn identity(&self) -> Option<record::Redis> {
        self.identity.clone()
    }

    fn report(&self) -> KeyReport {
        self.report.clone()
    }

    fn announced(&self) -> ServerFuture<'_, SocketAddr> {
        not_ours()
    }

    fn pause(&self) -> ServerFuture<'_> {
        not_ours()
    }

    fn resume(&self) -> ServerFuture<'_> {
        not_ours()
    }

    fn check_is_up(&self) -> ServerFuture<'_> {
        not_ours()
    }

    fn kill(&self) -> ServerFuture<'_> {
        not_ours()
    }

    fn restart(&self) -> ServerFuture<'_> {
        not_ours()
    }

    fn end(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            self.clean().await.map_err(|fault| {
                self.upstream.error(ExternalFault::KeysLeft {
                    url: self.upstream.server.to_string(),
                    prefix: self.prefix.clone(),
                    why: fault.to_string(),
                })
            })
        })
    }

    fn log_tail(&self, _lines: usize) -> LocalBoxFuture<'_, String> {
        Box::pin(ready(String::new()))
    }

    fn condition(&self) -> LocalBoxFuture<'_, String> {
        let place = self.upstream.server.place();
        Box::pin(ready(format!("it is {place}")))
    }
}

fn printable(name: &[u8]) -> String {
    short(&String::from_utf8_lossy(name).escape_debug().to_string())
}

fn not_ours<'a, T: 'a>() -> ServerFuture<'a, T> {
    Box::pin(ready(Err(BackendError::NotOurs)))
}
