//! A connection to a Redis Cluster, of which each server has some of the keys.
//!
//! The server that has answered last is asked first, and where it answers `MOVED`, the one that it names. A command that
//! was moved was not carried out, so no command is carried out twice. The usual clients of a Cluster
//! do more: they ask for the whole map beforehand.

use std::collections::HashMap;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Client, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use super::reconnecting::{Origin, Reconnecting, connection_info};

/// A command is moved no more often than this: then the servers do not agree who has the key.
const MAX_MOVES: usize = 5;

/// The connections to all servers that are known. Clones share them.
#[derive(Clone)]
pub(super) struct Redirecting(Arc<Shared>);

struct Shared {
    timeout: Duration,
    servers: Mutex<Servers>,
}

struct Servers {
    by_place: HashMap<String, Reconnecting>,
    /// The one that has answered last.
    last: String,
}

impl Redirecting {
    /// Begins with the server at this place. Commands fail after `timeout`, each time that they are moved anew.
    pub(super) fn new(first: String, timeout: Duration) -> Redirecting {
        Redirecting(Arc::new(Shared {
            timeout,
            servers: Mutex::new(Servers {
                by_place: HashMap::new(),
                last: first,
            }),
        }))
    }

    fn begin(&self) -> Way {
        Way {
            place: self.0.servers().last.clone(),
            moves: 0,
        }
    }

    /// True: the commands with these answers were moved, and the way leads to another server now.
    fn moved(&self, way: &mut Way, answers: &Result<&[Value], &RedisError>) -> bool {
        match moved_to(answers) {
            Some(to) if way.moves < MAX_MOVES => {
                way.place = to;
                way.moves += 1;
                true
            }
            _ => {
                self.0.servers().last.clone_from(&way.place);
                false
            }
        }
    }
}

fn moved_to(answers: &Result<&[Value], &RedisError>) -> Option<String> {
    let place = |error: &RedisError| error.redirect_node().map(|(place, _)| place.to_owned());
    match answers {
        Err(error) => place(error),
        Ok(answers) => answers.iter().find_map(|answer| match answer {
            Value::ServerError(error) => place(&error.clone().into()),
            _ => None,
        }),
    }
}

struct Way {
    place: String,
    moves: usize,
}

impl Shared {
    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, place: &str) -> RedisResult<Reconnecting> {
        let mut servers = self.servers();
        if let Some(known) = servers.by_place.get(place) {
            return Ok(known.clone());
        }
        let client = Client::open(connection_info(&format!("redis://{place}"))?)?;
        let new = Reconnecting::new(Arc::new(Origin::Server(client)), self.timeout);
        servers.by_place.insert(place.to_owned(), new.clone());
        Ok(new)
    }
}

impl ConnectionLike for Redirecting {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let mut way = self.begin();
            loop {
                let mut server = self.0.connection(&way.place)?;
                let answer = server.req_packed_command(command).await;
                if !self.moved(&mut way, &answer.as_ref().map(slice::from_ref)) {
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
            let mut way = self.begin();
            loop {
                let mut server = self.0.connection(&way.place)?;
                let answer = server.req_packed_commands(pipeline, offset, count).await;
                if !self.moved(&mut way, &answer.as_deref()) {
                    return answer;
                }
            }
        })
    }

    fn get_db(&self) -> i64 {
        // A Cluster has no other.
        0
    }
}
