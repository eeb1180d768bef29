//! A scripted connection, which answers like a misbehaving Redis.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use redis::aio::ConnectionLike;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, Value};

/// One answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A reply.
    Says(Value),
    /// An error reply with this code and text, as the parser creates it.
    Refuses(&'static str),
    /// The connection breaks, or its own timeout expires.
    Breaks(std::io::ErrorKind),
    /// No answer, ever.
    Silent,
    /// A reply after this many milliseconds.
    SaysAfter(u64, Value),
}

/// Gives the answers in order, and repeats the last one for ever.
#[derive(Clone)]
pub struct Scripted(Arc<Mutex<VecDeque<Answer>>>);

impl Scripted {
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Scripted(Arc::new(Mutex::new(answers.into_iter().collect())))
    }

    fn next(&self) -> Answer {
        let mut answers = self.0.lock().unwrap();
        match answers.len() {
            0 => Answer::Silent,
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        }
    }
}

impl ConnectionLike for Scripted {
    fn req_packed_command<'a>(&'a mut self, _command: &'a Cmd) -> RedisFuture<'a, Value> {
        let answer = self.next();
        Box::pin(async move {
            match answer {
                Answer::Says(value) => Ok(value),
                Answer::Refuses(line) => {
                    let reply = format!("-{line}\r\n");
                    redis::parse_redis_value(reply.as_bytes())?.extract_error()
                }
                Answer::Breaks(kind) => Err(RedisError::from(std::io::Error::from(kind))),
                Answer::Silent => std::future::pending().await,
                Answer::SaysAfter(millis, value) => {
                    tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
                    Ok(value)
                }
            }
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        _pipeline: &'a Pipeline,
        _offset: usize,
        _count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let error = RedisError::from((ErrorKind::Client, "no pipelines here"));
        Box::pin(std::future::ready(Err(error)))
    }

    fn get_db(&self) -> i64 {
        0
    }
}
