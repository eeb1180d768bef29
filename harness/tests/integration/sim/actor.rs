//! A pretended lock whose clients run a script, and record their observations with times.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_harness::clock::Clock;
use picklock_harness::history::History;
use picklock_harness::sim::{LockFactory, run};
use picklock_impls::{Context, Grant, Lock, LockError, Node};
use picklock_scenarios::Scenario;
use redis::{RedisError, Value};

use super::simulation;

/// An observation of a client: its time since the run's clock began, rounded down to milliseconds, and its text.
pub type Line = (u64, String);

/// A client that runs a script. Copies share the connections, as a lock's background tasks do.
#[derive(Clone)]
pub struct Actor {
    /// The number of the worker. Restarted workers and the client of the probe come after the last worker.
    pub role: usize,
    nodes: Vec<Node>,
    clock: Clock,
    seen: Arc<Mutex<Vec<(usize, Line)>>>,
}

impl Actor {
    /// Records an observation.
    pub fn record(&self, text: impl Into<String>) {
        let line = (self.now_ms(), text.into());
        self.seen.lock().unwrap().push((self.role, line));
    }

    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap()
    }

    /// Waits until a time of the run.
    pub async fn at(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms).saturating_sub(self.clock.elapsed())).await;
    }

    /// Sends a command to the first node, and records and returns the reply.
    pub async fn send(&self, words: &str) -> String {
        self.send_to_node(0, words).await
    }

    /// Sends a command to a node, and records and returns the reply.
    pub async fn send_to_node(&self, node: usize, words: &str) -> String {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        let mut node = self.nodes[node].clone();
        let answer = describe(command.query_async(&mut node).await);
        self.record(format!("{words} -> {answer}"));
        answer
    }

    /// Subscribes to a channel of the first node, and records its messages until `until_ms`.
    pub async fn subscribe(&self, channel: &str, until_ms: u64) {
        let mut subscription = match self.nodes[0].subscribe(channel).await {
            Ok(subscription) => subscription,
            Err(error) => return self.record(format!("no subscription: {error}")),
        };
        self.record("subscribed");
        let receiving = async {
            loop {
                let message = subscription.message().await.map(Value::BulkString);
                let broken = message.is_err();
                self.record(format!("received {}", describe(message)));
                if broken {
                    return;
                }
            }
        };
        tokio::select! {
            () = receiving => {}
            () = self.at(until_ms) => {}
        }
    }

    /// Sends commands as one transaction, and records and returns the reply.
    pub async fn transact(&self, commands: &[&str]) -> String {
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        for words in commands {
            let command = pipeline.cmd(words.split(' ').next().unwrap());
            for word in words.split(' ').skip(1) {
                command.arg(word);
            }
        }
        let answer = describe(pipeline.query_async(&mut self.nodes[0].clone()).await);
        self.record(format!("transaction -> {answer}"));
        answer
    }
}

/// Returns a reply as text.
fn describe(answer: Result<Value, RedisError>) -> String {
    match answer {
        Ok(Value::Nil) => "nil".into(),
        Ok(Value::Okay) => "OK".into(),
        Ok(Value::Int(number)) => number.to_string(),
        Ok(Value::SimpleString(text)) => text,
        Ok(Value::BulkString(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(Value::Array(items)) => {
            let items: Vec<String> = items.into_iter().map(|item| describe(Ok(item))).collect();
            format!("[{}]", items.join(" "))
        }
        Ok(other) => format!("{other:?}"),
        Err(error) if error.is_timeout() => "timed out".into(),
        Err(error) if error.is_connection_refusal() => "refused".into(),
        Err(error) if error.is_io_error() => "reset".into(),
        Err(error) => error.to_string(),
    }
}

type Part = dyn Fn(Actor) -> LocalBoxFuture<'static, ()> + Send + Sync;

/// Runs its script at the first `acquire`, and never acquires the lock.
struct Player {
    actor: Option<Actor>,
    part: Arc<Part>,
}

impl Lock for Player {
    async fn acquire(
        &mut self,
        _key: &str,
        _ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        if let Some(actor) = self.actor.take() {
            (self.part)(actor).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(None)
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(None)
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

/// The observations of all clients.
pub struct Seen {
    lines: Vec<(usize, Line)>,
    pub history: History,
}

impl Seen {
    /// Returns the observations of the client in this role.
    pub fn by(&self, role: usize) -> Vec<Line> {
        let own = self.lines.iter().filter(|(who, _)| *who == role);
        own.map(|(_, line)| line.clone()).collect()
    }

    /// Returns when the client in this role recorded exactly this text.
    #[track_caller]
    pub fn when(&self, role: usize, text: &str) -> u64 {
        let own = self.by(role);
        let found = own.iter().find(|(_, seen)| seen == text);
        found
            .unwrap_or_else(|| panic!("client {role} did not see `{text}`: {own:#?}"))
            .0
    }
}

/// Runs two clients on `nodes` nodes, with a lease of one second, a command timeout of half a
/// second, and these faults (TOML).
pub fn play<F>(
    nodes: usize,
    faults: &str,
    part: impl Fn(Actor) -> F + Send + Sync + 'static,
) -> Seen
where
    F: Future<Output = ()> + 'static,
{
    play_in(
        nodes,
        &format!("[workload]\nworkers = 2\nlimit = \"6s\"\ncommand_timeout = \"500ms\"\n{faults}"),
        part,
    )
}

/// Runs two clients with the test's own workload and topology.
pub fn play_in<F>(
    nodes: usize,
    rest: &str,
    part: impl Fn(Actor) -> F + Send + Sync + 'static,
) -> Seen
where
    F: Future<Output = ()> + 'static,
{
    let text = format!("name = \"stage\"\nsummary = \"A test's own.\"\n{rest}");
    let scenario = Scenario::parse(&text, "the test").unwrap_or_else(|error| panic!("{error}"));
    let seen = Arc::<Mutex<Vec<(usize, Line)>>>::default();
    let roles = AtomicUsize::new(0);
    let part: Arc<Part> = Arc::new(move |actor| Box::pin(part(actor)));
    let shared = Arc::clone(&seen);
    let lock = LockFactory::new("player", nodes, move |nodes: Vec<Node>, _: Context| {
        Player {
            actor: Some(Actor {
                role: roles.fetch_add(1, Ordering::Relaxed),
                nodes,
                clock: Clock::start(),
                seen: Arc::clone(&shared),
            }),
            part: Arc::clone(&part),
        }
    });
    let history = run(simulation(scenario, &lock, 1)).unwrap().history;
    let lines = seen.lock().unwrap().clone();
    Seen { lines, history }
}
