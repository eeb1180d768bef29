//! Servers that somebody else has started, by their URLs: plain data, checked before anything is reached.
//!
//! A password is given in a URL, or by an environment variable that the URL names. Either way it has a
//! variable: that is what files, reports and the command that repeats a run show in its place.

use std::fmt;
use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo};

use crate::record::ServersTable;

/// The variable of a password that was typed in a URL.
const TYPED_PASSWORD: &str = "PICKLOCK_REDIS_PASSWORD";

/// What names of keys begin with, where the user says nothing.
pub const DEFAULT_PREFIX: &str = "picklock:";

/// Why nothing that strikes the servers themselves can be done to them.
pub const NOT_OURS: &str =
    "Picklock does not stop, restart or change servers that it has not started";

/// Servers that somebody else has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServers {
    /// They, one for each node; at least one, and none twice.
    pub servers: Vec<ExternalServer>,
    /// What the names of all keys begin with, as the user wants it.
    pub prefix: Option<String>,
    /// What tells the keys of this run from those of others, where the user gives no prefix.
    pub token: String,
    /// The file with the certificates of the authorities to trust.
    pub ca: Option<PathBuf>,
    /// The files with the client's certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// They are the masters of one Redis Cluster, and count as one node.
    pub is_cluster: bool,
    /// The user has agreed that they are written to, wherever they are.
    pub agreed: bool,
}

/// Where one of them is, and as whom it is asked. Shown as its URL, with the name of a variable for the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServer {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// It is spoken to in TLS.
    pub tls: bool,
    /// The user of its access control list; `None`: the default user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
}

/// A password, and the environment variable that has it in a child process. Shown as the variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The variable.
    pub variable: String,
    /// The password itself. Keep it out of messages.
    pub text: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)
    }
}

/// Why servers cannot be used as they were named. A URL is shown without its password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages say what each is, and the names what is in it"
)]
pub enum ExternalServersError {
    #[error("it names no server")]
    None,
    #[error(
        "{0}: expected redis://HOST:PORT, or rediss://HOST:PORT for TLS, with USER:PASSWORD@ before the host if the \
         server wants it (write `%40` for an `@` in a password)"
    )]
    NoUrl(String),
    #[error("{0}: only database 0 can be used")]
    Database(String),
    #[error("{0} is named twice; each node must be a server of its own")]
    Twice(String),
    #[error("{url}: the environment variable {variable} is not set")]
    NoVariable { url: String, variable: String },
    #[error(
        "prefix {0:?}: expected 1 to 64 printable characters of ASCII, without blanks, quotes, backslashes and the \
         signs of patterns (`*?[]{{}}`)"
    )]
    Prefix(String),
    #[error("a client's certificate and its key belong together: name both files")]
    HalfIdentity,
    #[error("certificates are for servers with TLS, and none of the URLs begins with rediss://")]
    NoTls,
}

impl ExternalServers {
    /// The servers of this table. `variable` gives the value of an environment variable.
    ///
    /// # Errors
    /// See [`ExternalServersError`].
    pub fn new(
        table: &ServersTable,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ExternalServers, ExternalServersError> {
        let mut servers: Vec<ExternalServer> = Vec::new();
        for url in &table.redis {
            let mut server = ExternalServer::parse(url)?;
            server.password = match server.password.take() {
                Some(typed) => Some(named(&server, typed, &servers, &variable)?),
                None => None,
            };
            let is_there =
                |one: &ExternalServer| (&one.host, one.port) == (&server.host, server.port);
            if servers.iter().any(is_there) {
                return Err(ExternalServersError::Twice(server.to_string()));
            }
            servers.push(server);
        }
        if let Some(prefix) = table.prefix.as_ref().filter(|prefix| !is_prefix(prefix)) {
            return Err(ExternalServersError::Prefix(prefix.clone()));
        }
        let has_files = table.ca.is_some() || table.cert.is_some() || table.key.is_some();
        if servers.is_empty() {
            return Err(ExternalServersError::None);
        }
        if has_files && !servers.iter().any(|server| server.tls) {
            return Err(ExternalServersError::NoTls);
        }
        Ok(ExternalServers {
            servers,
            prefix: table.prefix.clone(),
            token: String::new(),
            ca: table.ca.clone(),
            identity: match (table.cert.clone(), table.key.clone()) {
                (Some(cert), Some(key)) => Some((cert, key)),
                (None, None) => None,
                _ => return Err(ExternalServersError::HalfIdentity),
            },
            is_cluster: false,
            agreed: false,
        })
    }

    /// The same as text, without passwords.
    pub fn table(&self) -> ServersTable {
        let (cert, key) = self.identity.clone().unzip();
        ServersTable {
            redis: self.servers.iter().map(ToString::to_string).collect(),
            prefix: self.prefix.clone(),
            ca: self.ca.clone(),
            cert,
            key,
        }
    }

    /// What the names of this run's keys begin with.
    pub fn key_prefix(&self) -> String {
        match &self.prefix {
            Some(prefix) => prefix.clone(),
            None => format!("{DEFAULT_PREFIX}{}:", self.token),
        }
    }

    /// How many nodes they are to a lock.
    pub fn nodes(&self) -> usize {
        match self.is_cluster {
            true => 1,
            false => self.servers.len(),
        }
    }

    /// The passwords, with the variables that have them in a child process.
    pub fn passwords(&self) -> impl Iterator<Item = &Secret> {
        let servers = self.servers.iter();
        servers.filter_map(|server| server.password.as_ref())
    }
}

/// The password that was typed, or that the environment variable holds whose name was typed after a `$`.
fn named(
    server: &ExternalServer,
    typed: Secret,
    others: &[ExternalServer],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Secret, ExternalServersError> {
    if let Some(name) = typed.text.strip_prefix('$') {
        let (found, variable) = (variable(name), name.to_owned());
        return match found {
            Some(text) => Ok(Secret { variable, text }),
            None => Err(ExternalServersError::NoVariable {
                url: server.to_string(),
                variable,
            }),
        };
    }
    let known = others.iter().filter_map(|other| other.password.as_ref());
    let same = known.clone().find(|known| known.text == typed.text);
    Ok(same.cloned().unwrap_or_else(|| Secret {
        variable: match known.count() {
            0 => TYPED_PASSWORD.to_owned(),
            others => format!("{TYPED_PASSWORD}_{}", others + 1),
        },
        text: typed.text,
    }))
}

fn is_prefix(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"*?[]{}\"'\\".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

impl ExternalServer {
    /// A URL; its password is what was typed there.
    fn parse(url: &str) -> Result<ExternalServer, ExternalServersError> {
        let shown = without_password(url);
        let no_url = || ExternalServersError::NoUrl(shown.clone());
        let (scheme, rest) = url.split_once("://").ok_or_else(no_url)?;
        let tls = match scheme {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            _ => return Err(no_url()),
        };
        if rest.contains(['?', '#']) {
            return Err(no_url());
        }
        let plain = format!("redis://{rest}").into_connection_info();
        let info = plain.map_err(|_| no_url())?;
        let ConnectionAddr::Tcp(host, port) = info.addr() else {
            return Err(no_url());
        };
        let settings = info.redis_settings();
        if settings.db() != 0 {
            return Err(ExternalServersError::Database(shown));
        }
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(ExternalServer {
            host: host.clone(),
            port: *port,
            tls,
            user: text(settings.username()),
            password: text(settings.password()).map(|text| Secret {
                variable: String::new(),
                text,
            }),
        })
    }

    /// Its host and port, as an address is written.
    pub fn place(&self) -> String {
        let (host, port) = (&self.host, self.port);
        match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }
    }
}

/// A URL as it can be shown although it may be none.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://...@{place}"),
        (None, Some((_, place))) => format!("...@{place}"),
        _ => url.to_owned(),
    }
}

impl fmt::Display for ExternalServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls { "rediss://" } else { "redis://" })?;
        let user = self.user.as_deref().unwrap_or_default();
        match &self.password {
            Some(Secret { variable, .. }) => write!(f, "{}:${variable}@", encoded(user))?,
            None if !user.is_empty() => write!(f, "{}@", encoded(user))?,
            None => {}
        }
        f.write_str(&self.place())
    }
}

/// The name of a user as a URL holds it.
fn encoded(user: &str) -> String {
    let encode = |byte: u8| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    user.bytes().map(encode).collect()
}

/// How a run is told from others that use the same servers.
#[derive(Debug)]
pub struct SharedServers {
    /// What no other run has in the words with which it introduces itself.
    pub token: String,
    /// What the names of its keys begin with.
    pub prefix: String,
    /// The masters of a Redis Cluster as they name each other; empty: there is none.
    pub cluster: Vec<String>,
    /// The environment variables that hold passwords of the servers: no worker gets them.
    pub secrets: Vec<String>,
}

impl SharedServers {
    /// Of a run on these servers.
    pub fn from_servers(servers: &ExternalServers) -> SharedServers {
        SharedServers {
            token: format!("{}-", servers.token),
            prefix: servers.key_prefix(),
            cluster: match servers.is_cluster {
                true => servers.servers.iter().map(ExternalServer::place).collect(),
                false => Vec::new(),
            },
            secrets: servers.passwords().map(|it| it.variable.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(urls: &[&str]) -> Result<ExternalServers, ExternalServersError> {
        let table = ServersTable {
            redis: urls.iter().map(|url| (*url).to_owned()).collect(),
            ..ServersTable::default()
        };
        ExternalServers::new(&table, |name| {
            (name == "SHOP").then(|| "open sesame".to_owned())
        })
    }

    #[test]
    fn url_reads_back_with_a_variable_in_place_of_its_password() {
        let table = [
            ("redis://localhost", "redis://localhost:6379"),
            ("redis://[::1]:7000/0", "redis://[::1]:7000"),
            ("rediss://10.0.0.9:1", "rediss://10.0.0.9:1"),
            ("redis://:$SHOP@h:1", "redis://:$SHOP@h:1"),
            (
                "redis://:geheim@h:1",
                "redis://:$PICKLOCK_REDIS_PASSWORD@h:1",
            ),
            (
                "valkeys://a%40b:p%40@h:1",
                "rediss://a%40b:$PICKLOCK_REDIS_PASSWORD@h:1",
            ),
        ];
        for (typed, shown) in table {
            let read = servers(&[typed]).unwrap();
            assert_eq!(read.table().redis, [shown]);
            assert!(!format!("{read:?}").contains("geheim"), "{read:?}");
        }
        let read = servers(&["redis://a%40b:p%40@h:1"]).unwrap();
        assert_eq!(read.servers[0].user.as_deref(), Some("a@b"));
        assert_eq!(read.passwords().next().unwrap().text, "p@");
        let read = servers(&["redis://:$SHOP@h:1"]).unwrap();
        assert_eq!(read.passwords().next().unwrap().text, "open sesame");
    }

    #[test]
    fn passwords_that_differ_have_variables_of_their_own() {
        let urls = [
            "redis://:a@h:1",
            "redis://:b@h:2",
            "redis://:a@h:3",
            "redis://h:4",
        ];
        let read = servers(&urls).unwrap();
        let variables: Vec<&str> = read.passwords().map(|it| it.variable.as_str()).collect();
        let [first, second] = ["PICKLOCK_REDIS_PASSWORD", "PICKLOCK_REDIS_PASSWORD_2"];
        assert_eq!(variables, [first, second, first]);
    }

    #[test]
    fn what_is_no_server_is_refused_without_its_password() {
        for url in [
            "localhost:6379",
            "http://h",
            "redis://",
            "unix:///tmp/s",
            "redis://u:geheim@h:x",
            "redis://h?protocol=3",
        ] {
            let refused = servers(&[url]).unwrap_err();
            assert!(
                matches!(refused, ExternalServersError::NoUrl(_)),
                "{url}: {refused}"
            );
            assert!(!refused.to_string().contains("geheim"), "{refused}");
        }
        let error = |urls: &[&str]| servers(urls).unwrap_err().to_string();
        assert_eq!(
            error(&["redis://h/3"]),
            "redis://h/3: only database 0 can be used"
        );
        assert!(error(&["redis://h", "rediss://h:6379"]).contains("twice"));
        assert!(error(&["redis://:$NONE@h"]).contains("NONE is not set"));
        assert_eq!(error(&[]), "it names no server");
    }

    #[test]
    fn prefix_is_the_user_s_or_has_the_token_of_the_run() {
        let table = |prefix: &str| ServersTable {
            redis: vec!["redis://h".into()],
            prefix: Some(prefix.to_owned()),
            ..ServersTable::default()
        };
        for bad in ["", "a b", "a*", "{a}", "ü"] {
            assert!(
                ExternalServers::new(&table(bad), |_| None).is_err(),
                "{bad}"
            );
        }
        let given = ExternalServers::new(&table("team-a:"), |_| None).unwrap();
        assert_eq!(given.key_prefix(), "team-a:");
        let none = ExternalServers {
            token: "1f".into(),
            ..servers(&["redis://h"]).unwrap()
        };
        assert_eq!(none.key_prefix(), "picklock:1f:");
    }

    #[test]
    fn half_an_identity_is_refused() {
        let table = ServersTable {
            redis: vec!["rediss://h".into()],
            cert: Some("c.pem".into()),
            ..ServersTable::default()
        };
        let half = ExternalServers::new(&table, |_| None);
        assert_eq!(half, Err(ExternalServersError::HalfIdentity));
        let plain = ServersTable {
            redis: vec!["redis://h".into()],
            ..table
        };
        let plain = ExternalServers::new(&plain, |_| None);
        assert_eq!(plain, Err(ExternalServersError::NoTls));
    }
}
