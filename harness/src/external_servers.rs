//! Servers that were started by someone else, given by their URLs. This is plain data, validated before any connection
//! is made.
//!
//! A URL contains a password or names an environment variable that contains it. In both cases the password belongs to a
//! variable. Files, reports and the command that repeats a run show the variable instead of the password.

use std::fmt;
use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo};

use crate::record::ServersTable;
use crate::secret::{Secret, without_password};

/// The environment variable for a password that was typed into a URL.
const TYPED_PASSWORD: &str = "PICKLOCK_REDIS_PASSWORD";

/// Default prefix of key names.
pub const DEFAULT_PREFIX: &str = "picklock:";

/// Reason why faults that affect the servers themselves are not available.
pub const NOT_OURS: &str =
    "Picklock does not stop, restart or change servers that it did not start";

/// Servers that were started by someone else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServers {
    /// The servers, one for each node. There is at least one, and no duplicates.
    pub servers: Vec<ExternalServer>,
    /// Prefix of all key names, or `None` if the user sets none.
    pub prefix: Option<String>,
    /// Token in key names that distinguishes this run from others. Used if the user sets no prefix.
    pub token: String,
    /// File with the certificates of the trusted authorities.
    pub ca: Option<PathBuf>,
    /// Files with the client's certificate and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Whether the servers are the masters of one Redis Cluster. They then count as one node.
    pub is_cluster: bool,
    /// Whether the user has agreed to writes to these servers, wherever they are.
    pub agreed: bool,
}

/// Address and credentials of one server. Displayed as its URL, with the name of a variable in place of the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalServer {
    /// Host name or IP address.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Whether connections use TLS.
    pub tls: bool,
    /// User of the server's access control list, or `None` for the default user.
    pub user: Option<String>,
    /// The password, if the server requires one.
    pub password: Option<Secret>,
}

/// Error in the description of external servers. URLs are shown without their passwords.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the field names their contents"
)]
pub enum ExternalServersError {
    #[error("no server URL given")]
    None,
    #[error(
        "{0}: expected redis://HOST:PORT, or rediss://HOST:PORT for TLS, with USER:PASSWORD@ before the host if the \
         server requires it (write `%40` for an `@` in a password)"
    )]
    InvalidUrl(String),
    #[error("{0}: only database 0 can be used")]
    Database(String),
    #[error("{0} is given twice; each node must be a separate server")]
    Twice(String),
    #[error("{url}: the environment variable {variable} is not set")]
    NoVariable { url: String, variable: String },
    #[error(
        "{0}: the environment variable after the `$` is not set; its name is not shown, because it may be a password \
         (write `%24` for a `$` of the password)"
    )]
    NoSuchVariable(String),
    #[error(
        "{0}: a password that begins with `$` is the name of an environment variable, and this one cannot be a name; \
         put the password into a variable"
    )]
    NotAVariable(String),
    #[error(
        "prefix {0:?}: expected 1 to 64 printable ASCII characters, without spaces, quotes, backslashes and the \
         wildcards `*?[]{{}}`"
    )]
    Prefix(String),
    #[error("a client certificate and its private key are required together: pass both files")]
    HalfIdentity,
    #[error("certificates require TLS, but no URL begins with rediss://")]
    NoTls,
}

impl ExternalServers {
    /// Parses the servers of a table. `variable` returns the value of an environment variable.
    ///
    /// # Errors
    /// Returns an error if the table is invalid; see [`ExternalServersError`].
    pub fn new(
        table: &ServersTable,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ExternalServers, ExternalServersError> {
        let mut servers: Vec<ExternalServer> = Vec::new();
        for url in &table.redis {
            let (mut server, typed) = ExternalServer::parse(url)?;
            server.password = typed
                .map(|typed| resolve_password(&server, typed, &servers, &variable))
                .transpose()?;
            let is_same =
                |other: &ExternalServer| (&other.host, other.port) == (&server.host, server.port);
            if servers.iter().any(is_same) {
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

    /// Converts the servers back to a table, without passwords.
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

    /// Returns the prefix of this run's key names.
    pub fn key_prefix(&self) -> String {
        match &self.prefix {
            Some(prefix) => prefix.clone(),
            None => format!("{DEFAULT_PREFIX}{}:", self.token),
        }
    }

    /// Returns the number of nodes that these servers form for a lock.
    pub fn nodes(&self) -> usize {
        if self.is_cluster {
            1
        } else {
            self.servers.len()
        }
    }

    /// Returns the passwords, with the variables that pass them to a child process.
    pub fn passwords(&self) -> impl Iterator<Item = &Secret> {
        let servers = self.servers.iter();
        servers.filter_map(|server| server.password.as_ref())
    }
}

/// A password as it is written in a URL.
enum TypedPassword {
    /// `$NAME`: the environment variable that contains the password.
    Variable(String),
    /// The password itself. A `$` at its beginning is percent-encoded in the URL.
    Literal(String),
}

/// Returns the error for a variable that is not set. Only variable names that Picklock itself chooses are shown,
/// because any other name may be a password that begins with `$`.
fn missing(server: &ExternalServer, variable: String) -> ExternalServersError {
    let url = server.to_string();
    if variable.starts_with(TYPED_PASSWORD) {
        ExternalServersError::NoVariable { url, variable }
    } else {
        ExternalServersError::NoSuchVariable(url)
    }
}

/// Returns the password. If the URL names a variable, reads the password from that variable.
fn resolve_password(
    server: &ExternalServer,
    typed: TypedPassword,
    others: &[ExternalServer],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Secret, ExternalServersError> {
    let text = match typed {
        TypedPassword::Literal(text) => text,
        TypedPassword::Variable(name) => {
            let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(is_of_name) {
                return Err(ExternalServersError::NotAVariable(server.to_string()));
            }
            return match variable(&name) {
                Some(text) => Ok(Secret::new(name, text)),
                None => Err(missing(server, name)),
            };
        }
    };
    let known = others.iter().filter_map(|other| other.password.as_ref());
    let same = known.clone().find(|known| known.expose() == text);
    Ok(same.cloned().unwrap_or_else(|| {
        let variable = match known.count() {
            0 => TYPED_PASSWORD.to_owned(),
            others => format!("{TYPED_PASSWORD}_{}", others + 1),
        };
        Secret::new(variable, text)
    }))
}

fn is_prefix(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"*?[]{}\"'\\".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

impl ExternalServer {
    /// Parses a URL. The password is returned as typed, and is not yet part of the returned server.
    fn parse(url: &str) -> Result<(ExternalServer, Option<TypedPassword>), ExternalServersError> {
        let shown = without_password(url);
        let invalid = || ExternalServersError::InvalidUrl(shown.clone());
        let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
        let tls = match scheme {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            _ => return Err(invalid()),
        };
        if rest.contains(['?', '#']) {
            return Err(invalid());
        }
        let info = format!("redis://{rest}")
            .into_connection_info()
            .map_err(|_| invalid())?;
        let ConnectionAddr::Tcp(host, port) = info.addr() else {
            return Err(invalid());
        };
        let settings = info.redis_settings();
        if settings.db() != 0 {
            return Err(ExternalServersError::Database(shown));
        }
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        let user = rest.rsplit_once('@').map(|(user, _)| user);
        let written = user.and_then(|user| Some(user.split_once(':')?.1));
        let password = text(settings.password()).map(|text| {
            match written.and_then(|it| it.strip_prefix('$')) {
                Some(name) => TypedPassword::Variable(name.to_owned()),
                None => TypedPassword::Literal(text),
            }
        });
        let server = ExternalServer {
            host: host.clone(),
            port: *port,
            tls,
            user: text(settings.username()),
            password: None,
        };
        Ok((server, password))
    }

    /// Returns the host and port in the usual notation, with brackets around an IPv6 address.
    pub fn place(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

impl fmt::Display for ExternalServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls { "rediss://" } else { "redis://" })?;
        let user = self.user.as_deref().unwrap_or_default();
        match &self.password {
            Some(secret) => write!(f, "{}:${}@", encoded(user), secret.variable())?,
            None if !user.is_empty() => write!(f, "{}@", encoded(user))?,
            None => {}
        }
        f.write_str(&self.place())
    }
}

/// Percent-encodes a user name for a URL.
fn encoded(user: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    user.bytes().map(encode).collect()
}

/// Data that distinguishes a run from others on the same servers.
#[derive(Debug)]
pub struct SharedServers {
    /// Token that this run's connections include in their names and that no other run uses.
    pub token: String,
    /// Prefix of the run's key names.
    pub prefix: String,
    /// Addresses of the Redis Cluster's masters, as they announce each other. Empty if there is no Cluster.
    pub cluster: Vec<String>,
    /// Address of each node, if there is no Cluster.
    pub nodes: Vec<String>,
    /// The environment variables that contain the servers' passwords. They are removed from the workers' environments.
    pub secrets: Vec<String>,
}

impl SharedServers {
    /// Creates the data of a run on these servers.
    pub fn from_servers(servers: &ExternalServers) -> SharedServers {
        let places = || servers.servers.iter().map(ExternalServer::place);
        let secrets = servers.passwords().map(|it| it.variable().to_owned());
        SharedServers {
            token: format!("{}-", servers.token),
            prefix: servers.key_prefix(),
            cluster: places().filter(|_| servers.is_cluster).collect(),
            nodes: places().filter(|_| !servers.is_cluster).collect(),
            secrets: secrets.collect(),
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
    fn url_is_displayed_with_a_variable_instead_of_its_password() {
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
        assert_eq!(read.passwords().next().unwrap().expose(), "p@");
        let read = servers(&["redis://:$SHOP@h:1"]).unwrap();
        assert_eq!(read.passwords().next().unwrap().expose(), "open sesame");
        let read = servers(&["redis://:%24SHOP@h:1"]).unwrap();
        assert_eq!(read.passwords().next().unwrap().expose(), "$SHOP");
    }

    #[test]
    fn name_of_a_missing_variable_is_not_shown() {
        let error = |url: &str| servers(&[url]).unwrap_err().to_string();
        for url in ["redis://:$GEHEIM@h", "redis://u:$geheim@h"] {
            let shown = error(url);
            assert!(
                shown.contains("is not set") && !shown.to_lowercase().contains("geheim"),
                "{shown}"
            );
        }
        let of_picklock = "redis://:$PICKLOCK_REDIS_PASSWORD@h";
        assert!(error(of_picklock).ends_with("PICKLOCK_REDIS_PASSWORD is not set"));
    }

    #[test]
    fn different_passwords_have_different_variables() {
        let urls = [
            "redis://:a@h:1",
            "redis://:b@h:2",
            "redis://:a@h:3",
            "redis://h:4",
        ];
        let read = servers(&urls).unwrap();
        let variables: Vec<&str> = read.passwords().map(Secret::variable).collect();
        let [first, second] = ["PICKLOCK_REDIS_PASSWORD", "PICKLOCK_REDIS_PASSWORD_2"];
        assert_eq!(variables, [first, second, first]);
    }

    #[test]
    fn invalid_url_is_rejected_without_showing_its_password() {
        for url in [
            "localhost:6379",
            "http://h",
            "redis://",
            "unix:///tmp/s",
            "redis://u:geheim@h:x",
            "redis://h?protocol=3",
            "redis://ana:geheim",
            // On the command line, a comma separates URLs. In a list, it is a part of the password.
            "ana:geheim,Long@h:1",
            "redis://h:1:geheim",
            "redis://h:1/geheim",
            "redis://h:1/?password=geheim",
            "geheim@h",
        ] {
            let error = servers(&[url]).unwrap_err();
            assert!(
                matches!(error, ExternalServersError::InvalidUrl(_)),
                "{url}: {error}"
            );
            assert!(!error.to_string().contains("geheim"), "{error}");
        }
        let error = |urls: &[&str]| servers(urls).unwrap_err().to_string();
        assert_eq!(
            error(&["redis://h/3"]),
            "redis://h/3: only database 0 can be used"
        );
        assert!(error(&["redis://h", "rediss://h:6379"]).contains("twice"));
        let no_name = error(&["redis://u:$geheim%23x@h"]);
        assert!(
            no_name.contains("cannot be a name") && !no_name.contains("geheim"),
            "{no_name}"
        );
        assert!(error(&["redis://u:geheim@h:x"]).starts_with("redis://...@...: expected"));
        assert!(error(&["http://h:1"]).starts_with("http://h:1: expected"));
        assert_eq!(error(&[]), "no server URL given");
    }

    #[test]
    fn default_prefix_contains_the_token_of_the_run() {
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
    fn certificate_without_key_or_tls_is_rejected() {
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
