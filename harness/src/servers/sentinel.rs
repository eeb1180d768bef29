//! Redis Sentinels: their configuration, and the commands that the backend sends to them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use redis::aio::MultiplexedConnection;
use redis::{RedisResult, cmd};
use tokio::time::timeout;

use super::server_queries::{ask, connection, unanswered};
use super::{BackendError, Password, ServerAddress};

/// Time without an answer after which the first Sentinel considers a master down. Redis's default is 30 s. Sentinel's
/// other timing is unchanged, so a failover takes one to three seconds, and a stale master is demoted after eight
/// seconds at the earliest.
const DOWN_AFTER: Duration = Duration::from_millis(400);

/// How much later than the preceding Sentinel each Sentinel considers a master down. If all Sentinels considered it
/// down at the same time, each would vote for itself, and an election without a winner is repeated only much later.
const STAGGER: Duration = Duration::from_millis(250);

/// Half of the time after which a failed failover is repeated. This is also the time for which Sentinels tolerate a
/// replica that does not replicate from the master that they know, for example after `cut-replication`.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long Sentinels may take to find each other and all servers.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// How long Sentinels may take to promote a replica. A failed election is repeated only after a minute, when all leases
/// have expired.
const PROMOTION_PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two requests.
const POLL: Duration = Duration::from_millis(10);

/// Returns the name by which the Sentinels know a node.
pub fn master_name(node: usize) -> String {
    format!("picklock-{node}")
}

/// Returns the configuration of one of `sentinels` Sentinels, which monitors the first server of each node.
pub(super) fn configuration(
    servers: &[Vec<SocketAddr>],
    number: usize,
    sentinels: usize,
    password: Password,
) -> String {
    let password = password.text();
    let quorum = sentinels / 2 + 1;
    let down_after = (0..number).fold(DOWN_AFTER, |after, _| after + STAGGER);
    let mut text = String::new();
    let masters = servers.iter().filter_map(|node| node.first());
    for (node, master) in masters.enumerate() {
        let name = master_name(node);
        let (ip, port) = (master.ip(), master.port());
        text.push_str(&format!(
            "sentinel monitor {name} {ip} {port} {quorum}\n\
             sentinel down-after-milliseconds {name} {}\n\
             sentinel failover-timeout {name} {}\n\
             sentinel parallel-syncs {name} 1\n\
             sentinel auth-pass {name} {password}\n",
            down_after.as_millis(),
            FAILOVER_TIMEOUT.as_millis(),
        ));
    }
    // Sentinels also authenticate to each other with this password. Protected mode is off, because clients of a
    // Sentinel in a container do not come from loopback addresses. The password keeps other users out.
    text.push_str(&format!("requirepass {password}\nprotected-mode no\n"));
    text
}

/// The Sentinels of a run, and the addresses that they announce.
#[derive(Debug)]
pub struct SentinelGroup {
    listening: Vec<ServerAddress>,
    announced: Vec<SocketAddr>,
    servers: Vec<Vec<SocketAddr>>,
}

impl SentinelGroup {
    /// Waits until every Sentinel knows all others and all servers. `listening` contains the Sentinels' addresses on
    /// loopback, `announced` the addresses that they use for each other, and `servers` the addresses that they use for
    /// each node's servers, master first.
    pub(super) async fn begin(
        listening: Vec<ServerAddress>,
        announced: Vec<SocketAddr>,
        servers: Vec<Vec<SocketAddr>>,
    ) -> Result<SentinelGroup, BackendError> {
        let group = SentinelGroup {
            listening,
            announced,
            servers,
        };
        group.introduce().await?;
        let mut seen = String::new();
        let known = async {
            while let Some(missing) = group.missing().await? {
                seen = missing;
                tokio::time::sleep(POLL).await;
            }
            Ok(())
        };
        match timeout(START_PATIENCE, known).await {
            Ok(known) => known.map(|()| group),
            Err(_) => Err(BackendError::NotInTime {
                what: "the Sentinels did not find each other and all servers".to_owned(),
                after: START_PATIENCE,
                seen: format!(": {seen}"),
            }),
        }
    }

    /// Returns the Sentinels' addresses on loopback.
    pub fn listening(&self) -> &[ServerAddress] {
        &self.listening
    }

    /// Returns the addresses that the Sentinels announce, in the same order.
    pub fn announced(&self) -> &[SocketAddr] {
        &self.announced
    }

    /// Returns the addresses that the Sentinels report for the servers of a node: its first master, then its replicas.
    pub fn servers(&self, node: usize) -> &[SocketAddr] {
        &self.servers[node]
    }

    /// Waits until all Sentinels report the same replica as the node's master. Returns its index among the
    /// [servers](SentinelGroup::servers).
    ///
    /// # Errors
    /// Returns an error if this does not happen in time, or a Sentinel does not answer.
    pub async fn promoted(&self, node: usize) -> Result<usize, BackendError> {
        let name = master_name(node);
        let mut seen = String::new();
        let promoted = async {
            loop {
                let queries = self
                    .listening
                    .iter()
                    .map(|sentinel| master(*sentinel, &name));
                let masters = try_join_all(queries).await?;
                let index =
                    |at: &SocketAddr| self.servers[node].iter().position(|address| address == at);
                if let Some(server) = masters.first().and_then(index)
                    && server > 0
                    && masters.iter().all(|other| *other == masters[0])
                {
                    return Ok(server);
                }
                seen = format!("they report {masters:?} as its master");
                tokio::time::sleep(POLL).await;
            }
        };
        match timeout(PROMOTION_PATIENCE, promoted).await {
            Ok(promoted) => promoted,
            Err(_) => Err(BackendError::NotPromoted {
                node,
                after: PROMOTION_PATIENCE,
                seen,
            }),
        }
    }

    /// Returns the number of the last failover of a node (its `config-epoch`) that any answering Sentinel knows, or 0
    /// if its first master was never replaced. The number increases with every failover, even with a failover back to
    /// that master.
    pub async fn last_failover(&self, node: usize) -> u64 {
        let name = master_name(node);
        let words = ["SENTINEL", "MASTER", &name];
        let epochs = self.listening.iter().map(async |sentinel| {
            let fields: HashMap<String, String> =
                ask(*sentinel, &words, "SENTINEL MASTER").await.ok()?;
            fields.get("config-epoch")?.parse().ok()
        });
        join_all(epochs)
            .await
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(0)
    }

    /// Introduces every Sentinel to every other one, with the message that Sentinels also send each other every two
    /// seconds.
    async fn introduce(&self) -> Result<(), BackendError> {
        let identities = try_join_all(self.listening.iter().map(|at| identity(*at))).await?;
        for (to, listening) in self.listening.iter().enumerate() {
            let mut connection = connection(*listening, "PUBLISH").await?;
            let others = identities.iter().zip(&self.announced).enumerate();
            for (_, (identity, at)) in others.filter(|(other, _)| *other != to) {
                let masters = self.servers.iter().filter_map(|node| node.first());
                for (node, master) in masters.enumerate() {
                    let greeting = format!(
                        "{},{},{identity},0,{},{},{},0",
                        at.ip(),
                        at.port(),
                        master_name(node),
                        master.ip(),
                        master.port()
                    );
                    let mut greet = cmd("PUBLISH");
                    greet.arg("__sentinel__:hello").arg(greeting);
                    let greeted: RedisResult<()> = greet.query_async(&mut connection).await;
                    greeted.map_err(unanswered(*listening, "PUBLISH"))?;
                }
            }
        }
        Ok(())
    }

    /// Describes the first fact that a Sentinel does not know yet, or returns `None` if all Sentinels know everything.
    async fn missing(&self) -> Result<Option<String>, BackendError> {
        for (number, listening) in self.listening.iter().enumerate() {
            let mut connection = connection(*listening, "SENTINEL MASTER").await?;
            for (node, servers) in self.servers.iter().enumerate() {
                let sentinels = self.listening.len();
                let ready = ready(&mut connection, node, sentinels, servers.len()).await;
                if let Err(reason) = ready.map_err(unanswered(*listening, "SENTINEL MASTER"))? {
                    return Ok(Some(format!("Sentinel {number}: {reason}")));
                }
            }
        }
        Ok(None)
    }
}

/// Checks that a Sentinel could fail over this node now. The inner error is the reason why it could not.
async fn ready(
    connection: &mut MultiplexedConnection,
    node: usize,
    sentinels: usize,
    servers: usize,
) -> RedisResult<Result<(), String>> {
    let name = master_name(node);
    let about = |command: &str| cmd("SENTINEL").arg(command).arg(&name).to_owned();
    let master: HashMap<String, String> = about("MASTER").query_async(connection).await?;
    let replicas: Vec<HashMap<String, String>> = about("REPLICAS").query_async(connection).await?;
    let field = |fields: &HashMap<String, String>, name: &str| -> String {
        fields.get(name).cloned().unwrap_or_default()
    };
    let others = field(&master, "num-other-sentinels");
    if field(&master, "flags") != "master" || others != (sentinels - 1).to_string() {
        return Ok(Err(format!(
            "{name} is `{}`, monitored by {others} others",
            field(&master, "flags")
        )));
    }
    // A replica with which the Sentinel has no contact yet has the flag `s_down` or `disconnected`.
    let is_known = |replica: &&HashMap<String, String>| {
        field(replica, "flags") == "slave" && field(replica, "master-link-status") == "ok"
    };
    let known = replicas.iter().filter(is_known).count();
    if known + 1 == servers {
        return Ok(Ok(()));
    }
    Ok(Err(format!(
        "{name} has {known} of {} replicas",
        servers - 1
    )))
}

async fn identity(sentinel: ServerAddress) -> Result<String, BackendError> {
    ask(sentinel, &["SENTINEL", "MYID"], "SENTINEL MYID").await
}

/// Returns the master's address that a Sentinel reports.
async fn master(sentinel: ServerAddress, name: &str) -> Result<SocketAddr, BackendError> {
    const QUESTION: &str = "SENTINEL GET-MASTER-ADDR-BY-NAME";
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name];
    let (ip, port): (String, u16) = ask(sentinel, &words, QUESTION).await?;
    let ip = ip.parse().map_err(|_| {
        let reason = format!("`{ip}` is not an IP address");
        let error = redis::RedisError::from(std::io::Error::other(reason));
        unanswered(sentinel, QUESTION)(error)
    })?;
    Ok(SocketAddr::new(ip, port))
}
