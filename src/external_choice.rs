//! The user's own servers: reads them from the command line or `picklock.toml`, and shows notes and asks for
//! confirmation before anything is written to them.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use picklock_harness::external_servers::{DEFAULT_PREFIX, ExternalServer, ExternalServers};
use picklock_harness::record::ServersTable;
use picklock_harness::rng;
use picklock_harness::servers::{ExaminedServer, KeyReport, examine, find_masters};
use picklock_reports::configuration::Tables;
use picklock_reports::escape::visible;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use tokio::net::lookup_host;

use crate::configuration::{DEFAULT_FILE, read, unreadable};
use crate::exit::Failure;
use crate::print;

/// The error if the backend `external` has no servers.
pub const NO_SERVERS: &str = "the backend external needs servers: name them by --redis URL, or in the table [servers] of picklock.toml";

/// The options about the user's own servers.
#[derive(Debug, Clone, Default, Args)]
pub struct ExternalArgs {
    /// Your own running servers (backend `external`): redis://USER:PASSWORD@HOST:PORT, or rediss:// for
    /// TLS. Repeatable, or several with commas: one per node. `$NAME` as the password is that
    /// environment variable. See `picklock docs servers`.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub redis: Vec<String>,
    /// Prefix of every key that the run creates on these servers. Default: `picklock:` and a random word.
    #[arg(long, value_name = "PREFIX", requires = "redis")]
    pub redis_prefix: Option<String>,
    /// Certificates of the authorities to trust, as a PEM file. Default: those of this machine.
    #[arg(long, value_name = "FILE", requires = "redis")]
    pub redis_ca: Option<PathBuf>,
    /// Client certificate for servers with TLS, as a PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["redis", "redis_key"])]
    pub redis_cert: Option<PathBuf>,
    /// The key of that certificate, as a PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["redis", "redis_cert"])]
    pub redis_key: Option<PathBuf>,
    /// Write to your own servers on other machines without asking.
    #[arg(long)]
    pub yes: bool,
}

impl ExternalArgs {
    /// Returns the servers, or `None` if the user named none.
    pub fn servers(&self) -> Result<Option<ExternalServers>, Failure> {
        if self.redis.is_empty() {
            return Ok(None);
        }
        let table = ServersTable {
            redis: self.redis.clone(),
            prefix: self.redis_prefix.clone(),
            ca: self.redis_ca.clone(),
            cert: self.redis_cert.clone(),
            key: self.redis_key.clone(),
        };
        from_table(&table, self.yes).map(Some)
    }
}

/// Returns the servers of a table, with the passwords of this process's environment. If `agreed`, Picklock may write to
/// servers on other machines.
///
/// # Errors
/// Returns an error if they cannot be used as named.
pub fn from_table(table: &ServersTable, agreed: bool) -> Result<ExternalServers, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let servers = ExternalServers::new(table, variable)
        .map_err(|error| Failure::Usage(inert!("--redis: {}", error)))?;
    Ok(ExternalServers { agreed, ..servers })
}

/// Returns the servers of a configuration, for a command line that names the backend and no servers.
///
/// # Errors
/// Returns an error if there is none, or if they cannot be used.
pub fn configured(config: Option<&Path>, agreed: bool) -> Result<ExternalServers, Failure> {
    let path = config.unwrap_or(Path::new(DEFAULT_FILE));
    let table = match read(path) {
        Ok(source) => Tables::read(&source)?.servers,
        Err(_) if config.is_none() => None,
        Err(error) => return Err(unreadable(path, &error)),
    };
    match table {
        Some(table) => from_table(table.get_ref(), agreed),
        None => Err(Failure::Usage(Inert::literal(NO_SERVERS))),
    }
}

/// Asks for permission to write to the servers, and inspects them. Returns the servers with the prefix of the run's
/// keys, one line that names them, and notes about the changes that the run makes to them.
///
/// # Errors
/// Returns an error if the user does not agree, or if a server cannot be used.
pub async fn plan(
    servers: &ExternalServers,
) -> Result<(ExternalServers, String, Vec<String>), Failure> {
    let secret = rng::fresh_secret();
    let secret = secret.map_err(|error| Failure::Environment(inert!("no entropy: {}", error)))?;
    let token = secret.iter().take(8).map(|byte| format!("{byte:02x}"));
    let servers = ExternalServers {
        token: token.collect(),
        ..servers.clone()
    };
    if !servers.agreed {
        let far = far_ones(&servers).await;
        agree(&far, "is not on this machine", &servers.key_prefix()).await?;
    }
    let given = servers;
    let servers = find_masters(&given).await?;
    if !servers.agreed {
        let named = newly_named(&given, &servers).await;
        agree(&named, "was named by a server", &servers.key_prefix()).await?;
    }
    let examined = examine(&servers).await?;
    let mut reason = reason(&examined);
    if servers.is_cluster {
        reason = format!("Redis Cluster of {reason}");
    }
    let notes = notes(&servers, &examined);
    Ok((servers, reason, notes))
}

/// Returns the servers that are not certainly on this machine.
async fn far_ones(servers: &ExternalServers) -> Vec<String> {
    let mut far = Vec::new();
    for server in &servers.servers {
        let ExternalServer { host, port, .. } = server;
        let addresses = lookup_host((host.as_str(), *port)).await;
        let mut addresses = addresses.into_iter().flatten().peekable();
        let is_near = addresses.peek().is_some() && addresses.all(|it| it.ip().is_loopback());
        if !is_near {
            far.push(server.place());
        }
    }
    far
}

/// Returns the addresses that a server has announced and the user has not named. Another port of a host on this machine
/// that the user has named does not count.
async fn newly_named(given: &ExternalServers, servers: &ExternalServers) -> Vec<String> {
    let given = &given.servers;
    let is_given = |server: &ExternalServer| {
        let mut given = given.iter();
        given.any(|it| (&it.host, it.port) == (&server.host, server.port))
    };
    let is_same_host = |server: &ExternalServer| given.iter().any(|it| it.host == server.host);
    let mut named = servers.clone();
    named.servers.retain(|server| !is_given(server));
    let far = far_ones(&named).await;
    let asked = named.servers.iter().filter(|server| {
        let place = server.place();
        !is_same_host(server) || far.contains(&place)
    });
    asked.map(ExternalServer::place).collect()
}

/// Asks the user about these addresses, if there are any. The user needs a terminal to answer.
async fn agree(asked: &[String], why: &str, prefix: &str) -> Result<(), Failure> {
    if asked.is_empty() {
        return Ok(());
    }
    let places = asked.join(", ");
    let places = visible(&places);
    let refused = |what: &str| {
        Failure::Usage(inert!(
            "--redis: {} {}{}\n  = help: --yes lets picklock write and delete keys with \
             {} in their names there",
            places,
            why,
            what,
            prefix
        ))
    };
    if !std::io::stdin().is_terminal() || !print::stderr_is_terminal() {
        return Err(refused(
            ", and there is no terminal to ask for confirmation",
        ));
    }
    print::err(&inert!(
        "Write and delete keys with {} in their names at {}? [y/N] ",
        prefix,
        places
    ));
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let answer = answer.await.ok().and_then(Result::ok).unwrap_or_default();
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(refused("; nothing was written")),
    }
}

fn reason(examined: &[ExaminedServer]) -> String {
    let one = |server: &ExaminedServer| {
        let redis = &server.redis;
        format!("{} {} at {}", redis.server, redis.version, server.place)
    };
    let all: Vec<String> = examined.iter().map(one).collect();
    visible(&all.join(", ")).into_owned()
}

fn notes(servers: &ExternalServers, examined: &[ExaminedServer]) -> Vec<String> {
    let names = match &servers.prefix {
        Some(prefix) => format!("{prefix} in their names"),
        // Each run of a matrix has a different prefix.
        None => {
            format!("{DEFAULT_PREFIX} and a random word in their names, which differs between runs")
        }
    };
    let places: Vec<&str> = examined.iter().map(|it| it.place.as_str()).collect();
    let is_silent = |server: &ExaminedServer| server.report == KeyReport::Commands;
    let refused = examined.iter().find_map(|server| match &server.report {
        KeyReport::Nothing(why) => Some((&server.place, why)),
        _ => None,
    });
    let key_history = match refused {
        _ if servers.is_cluster => "without key history, because the servers of a Redis Cluster are not observed".to_owned(),
        Some((place, why)) => format!(
            "without key history, because {place} does not allow MONITOR ({}): properties that depend on it are not judged",
            visible(why)
        ),
        None if examined.iter().any(is_silent) => {
            "MONITOR shows who wrote a key; the time of an expiry is computed, because keyspace notifications are off".to_owned()
        }
        None => "MONITOR and keyspace notifications show who wrote a key, and how it went away".to_owned(),
    };
    let left = examined.iter().find_map(|server| {
        let example = visible(server.other_runs.first()?);
        let (count, place) = (server.other_runs.len(), &server.place);
        Some(format!(
            "{place} has {count} keys of another run, which is still running or was killed, such as {example}"
        ))
    });
    let notes = vec![
        format!(
            "keys have {names} and are removed at the end; nothing else is changed at {}",
            visible(&places.join(", "))
        ),
        key_history,
        "faults of clients and links are applied; faults of servers are not applicable".to_owned(),
    ];
    notes.into_iter().chain(left).collect()
}
