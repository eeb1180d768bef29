//! A connection that records every command that goes through it.

use std::sync::{Arc, Mutex};

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline, RedisFuture, Value};

/// The recorded commands, one string each.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Records a command that is sent on another connection.
    pub fn note(&self, command: String) {
        self.0.lock().unwrap().push(command);
    }

    /// Returns the commands since the last call. `names` lists replacements for parts that differ between runs.
    pub fn take(&self, names: &[(&str, &str)]) -> Vec<String> {
        let commands = std::mem::take(&mut *self.0.lock().unwrap());
        let rename = |command: String| {
            names
                .iter()
                .fold(command, |text, (what, by)| text.replace(what, by))
        };
        commands.into_iter().map(rename).collect()
    }
}

/// Forwards and records everything.
#[derive(Clone)]
pub struct Recording<C> {
    inner: C,
    log: Log,
}

impl<C> Recording<C> {
    pub fn new(inner: C, log: Log) -> Self {
        Recording { inner, log }
    }
}

fn words(command: &Cmd) -> String {
    let word = |arg| match arg {
        Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => "(cursor)".to_owned(),
    };
    command.args_iter().map(word).collect::<Vec<_>>().join(" ")
}

impl<C: ConnectionLike + Send> ConnectionLike for Recording<C> {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.log.0.lock().unwrap().push(words(command));
        self.inner.req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}
