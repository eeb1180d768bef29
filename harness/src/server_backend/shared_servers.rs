//! Servers that somebody else has started: what tells a run from others there.

use crate::external_servers::{ExternalServer, ExternalServers};

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
    pub fn of(servers: &ExternalServers) -> SharedServers {
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
