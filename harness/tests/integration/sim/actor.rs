//! A lock that is none: its clients play a part, and write down what they saw and when.

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

/// What one client saw: when (since the run's clock began, rounded down to milliseconds), and
/// what.
pub type Line = (u64, String);

/// One client on the stage. Copies share the connections, as a lock's background tasks do.
#[derive(Clone)]
pub struct Actor {
    /// The number of the worker; restarted ones and the client that probes come after the last.
    pub role: usize,
    nodes: Vec<Node>,
    clock: Clock,
    seen: Arc<Mutex<Vec<(usize, Line)>>>,
}

impl Actor {
    /// Writes down what was seen.
    pub fn say(&self, text: impl Into<String>) {
        let line = (self.now_ms(), text.into());
        self.seen.lock().unwrap().push((self.role, line));
    }

    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap()
    }

    /// Waits until that time.
    pub async fn at(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms).saturating_sub(self.clock.elapsed())).await;
    }

    /// Gives a command of the first node, and says what came back.
    pub async fn ask(&self, words: &str) -> String {
        self.ask_node(0, words).await
    }

    /// Gives a command of one node, and says what came back.
    pub async fn ask_node(&self, node: usize, words: &str) -> String {
        let mut command = redis::Cmd::new();
        for word in words.split(' ') {
            command.arg(word);
        }
        let mut node = self.nodes[node].clone();
        let answer = describe(command.query_async(&mut node).await);
        self.say(format!("{words} -> {answer}"));
        answer
    }

    /// Subscribes to a channel of the first node, and says what is published there, until that time.
    pub async fn hear(&self, channel: &str, until_ms: u64) {
        let mut subscription = match self.nodes[0].subscribe(channel).await {
            Ok(subscription) => subscription,
            Err(error) => return self.say(format!("no subscription: {error}")),
        };
        self.say("subscribed");
        let hearing = async {
            loop {
                let message = subscription.message().await.map(Value::BulkString);
                let broken = message.is_err();
                self.say(format!("heard {}", describe(message)));
                if broken {
                    return;
                }
            }
        };
        tokio::select! {
            () = hearing => {}
            () = self.at(until_ms) => {}
        }
    }

    /// Commands as one transaction.
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
        self.say(format!("transaction -> {answer}"));
        answer
    }
}

/// A reply as a word.
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

/// Plays its part at the first `acquire`, and never gets the lock.
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

/// What was seen on the stage.
pub struct Seen {
    lines: Vec<(usize, Line)>,
    pub history: History,
}

impl Seen {
    /// What the client in this role saw.
    pub fn by(&self, role: usize) -> Vec<Line> {
        let own = self.lines.iter().filter(|(who, _)| *who == role);
        own.map(|(_, line)| line.clone()).collect()
    }

    /// When the client in this role saw exactly this.
    #[track_caller]
    pub fn when(&self, role: usize, text: &str) -> u64 {
        let own = self.by(role);
        let found = own.iter().find(|(_, seen)| seen == text);
        found
            .unwrap_or_else(|| panic!("client {role} did not see `{text}`: {own:#?}"))
            .0
    }
}

/// Two clients play their parts on `nodes` nodes, with a lease of one second and commands that
/// time out after half a second, under these faults (TOML).
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

/// The same with a workload and a topology of the test's own.
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
