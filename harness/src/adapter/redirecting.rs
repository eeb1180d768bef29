//! A connection to a Redis Cluster, in which each server has a part of the keys.
//!
//! A command is sent to the server that answered last. If that server replies `MOVED`, the command is sent to the
//! server named in the reply. A server that replies `MOVED` has not executed the command, so no command is executed
//! twice. The usual Cluster clients also query the slot map beforehand.

use std::collections::HashMap;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Client, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::reconnecting::{Origin, Reconnecting, connection_info};

/// Maximum number of redirections of a command. If a command is redirected more often, the servers do not agree on the
/// owner of the key.
const MAX_MOVES: usize = 5;

/// The connections to all known servers. Clones share these connections.
#[derive(Clone)]
pub(super) struct Redirecting(Arc<Shared>);

struct Shared {
    timeout: Duration,
    servers: Mutex<Servers>,
}

struct Servers {
    by_address: HashMap<String, Reconnecting>,
    /// The server that answered last.
    last: String,
}

impl Redirecting {
    /// Creates a connection that starts with the server at this address. Commands fail after `timeout`, which starts
    /// again at each redirection.
    pub(super) fn new(first: String, timeout: Duration) -> Redirecting {
        Redirecting(Arc::new(Shared {
            timeout,
            servers: Mutex::new(Servers {
                by_address: HashMap::new(),
                last: first,
            }),
        }))
    }

    fn begin(&self) -> Route {
        Route {
            address: self.0.servers().last.clone(),
            moves: 0,
        }
    }

    /// Returns `true` if the commands with these replies were moved, and if so, sets the route to the other server.
    fn is_moved(&self, route: &mut Route, answers: &Result<&[Value], &RedisError>) -> bool {
        match moved_to(answers) {
            Some(to) if route.moves < MAX_MOVES => {
                route.address = to;
                route.moves += 1;
                true
            }
            _ => {
                self.0.servers().last.clone_from(&route.address);
                false
            }
        }
    }
}

fn moved_to(answers: &Result<&[Value], &RedisError>) -> Option<String> {
    let address = |error: &RedisError| error.redirect_node().map(|(address, _)| address.to_owned());
    match answers {
        Err(error) => address(error),
        Ok(answers) => answers.iter().find_map(|answer| match answer {
            Value::ServerError(error) => address(&error.clone().into()),
            _ => None,
        }),
    }
}

struct Route {
    address: String,
    moves: usize,
}

impl Shared {
    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, address: &str) -> RedisResult<Reconnecting> {
        let mut servers = self.servers();
        if let Some(known) = servers.by_address.get(address) {
            return Ok(known.clone());
        }
        let client = Client::open(connection_info(&format!("redis://{address}"))?)?;
        let new = Reconnecting::new(Arc::new(Origin::Server(client)), self.timeout);
        servers.by_address.insert(address.to_owned(), new.clone());
        Ok(new)
    }
}

impl ConnectionLike for Redirecting {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let mut route = self.begin();
            loop {
                let mut server = self.0.connection(&route.address)?;
                let answer = server.req_packed_command(command).await;
                if !self.is_moved(&mut route, &answer.as_ref().map(slice::from_ref)) {
                    return answer;
                }
            }
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let mut route = self.begin();
            loop {
                let mut server = self.0.connection(&route.address)?;
                let answer = server.req_packed_commands(pipeline, offset, count).await;
                if !self.is_moved(&mut route, &answer.as_deref()) {
                    return answer;
                }
            }
        })
    }

    fn get_db(&self) -> i64 {
        // A Cluster has only database 0.
        0
    }
}
