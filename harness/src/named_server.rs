//! Servers that users choose by name. The same name selects the same server in every backend.

use std::fmt;
use std::str::FromStr;

use crate::model::ServerVersion;

/// The default image.
pub const OFFICIAL_IMAGE: &str = "redis:8";

/// The image that `scripts/redis-image` builds from the machine's own server, for machines without access to a
/// registry.
pub const LOCAL_IMAGE: &str = "picklock-redis:local";

/// A server that can be chosen by name, such as `redis:8.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedServer {
    name: &'static str,
    image: &'static str,
    version: ServerVersion,
}

/// All named servers. `scripts/servers` installs their programs.
const ALL: [NamedServer; 5] = [
    named("redis:6.2", "picklock-redis:6.2", ServerVersion::Redis62),
    named("redis:7.0", "picklock-redis:7.0", ServerVersion::Redis70),
    named("redis:8.0", "picklock-redis:8.0", ServerVersion::Redis80),
    named("valkey:8", "picklock-valkey:8", ServerVersion::Valkey81),
    named("valkey:9", "picklock-valkey:9", ServerVersion::Valkey91),
];

const fn named(name: &'static str, image: &'static str, version: ServerVersion) -> NamedServer {
    NamedServer {
        name,
        image,
        version,
    }
}

impl NamedServer {
    /// Returns all names, oldest server first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|server| server.name)
    }

    /// Returns the name, such as `redis:8.0`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the image for the container backend. `scripts/redis-image` builds it.
    pub fn image(self) -> &'static str {
        self.image
    }

    /// Returns the version that the simulation models.
    pub fn version(self) -> ServerVersion {
        self.version
    }

    /// Returns the program for the process backend, relative to the directory that has one folder per server.
    pub fn program(self) -> String {
        let family = self.version.server();
        format!("{}/{family}-server", self.name.replace(':', "-"))
    }
}

impl fmt::Display for NamedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Error for an unknown server name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown server `{name}`; expected one of {}", NamedServer::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownServer {
    name: String,
}

impl FromStr for NamedServer {
    type Err = UnknownServer;

    fn from_str(name: &str) -> Result<NamedServer, UnknownServer> {
        let found = ALL.iter().find(|server| server.name == name);
        found.copied().ok_or_else(|| UnknownServer {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_name_has_a_program_and_unknown_name_gets_the_list() {
        for name in NamedServer::names() {
            assert_eq!(name.parse::<NamedServer>().unwrap().to_string(), name);
        }
        let server: NamedServer = "valkey:9".parse().unwrap();
        assert_eq!(server.program(), "valkey-9/valkey-server");
        let error = "redis:9".parse::<NamedServer>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown server `redis:9`; expected one of redis:6.2, redis:7.0, redis:8.0, valkey:8, valkey:9"
        );
    }
}
