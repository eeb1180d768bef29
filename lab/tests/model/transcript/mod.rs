//! Transcripts: commands of several clients, executed by the model and by a real server.

mod comparison;

use std::fmt::Write as _;
use std::path::Path;

use picklock_redis_model::{ClientId, Now, Reply, Server, ServerVersion};

use crate::real_redis::{RealClient, RealServer};
use comparison::same;

/// Maximum length of a wait that is waited out, in microseconds.
const MAX_NAP_US: i64 = 100_000;

/// Number of clients in a transcript.
pub const CLIENTS: usize = 3;

/// Number of transcripts after which connections are renewed. In between, RESET cleans them.
const RENEW_EVERY: usize = 100;

/// One command of one client.
#[derive(Debug, Clone)]
pub struct Step {
    pub client: usize,
    pub words: Vec<Vec<u8>>,
}

impl Step {
    /// Parses words in one line, such as `0: SET a b`, each as [`word`] reads it.
    pub fn parse(line: &str) -> Step {
        let (client, words) = line.split_once(": ").expect("client: command");
        Step {
            client: client.parse().expect("a client's number"),
            words: words.split(' ').map(word).collect(),
        }
    }

    /// Returns `true` if the step's script contains this text, ignoring case.
    fn mentions(&self, text: &str) -> bool {
        let script = self.words.get(1);
        script.is_some_and(|body| {
            String::from_utf8_lossy(body)
                .to_ascii_lowercase()
                .contains(text)
        })
    }

    fn is(&self, name: &str) -> bool {
        self.words[0].eq_ignore_ascii_case(name.as_bytes())
    }
}

/// Decodes a word as written in a transcript: `\\s` is a space, `\\n` a line break, `\\e` the empty string, and
/// `\\binary` is a sequence of bytes that are not text.
pub fn word(text: &str) -> Vec<u8> {
    if text == "\\binary" {
        return BINARY.to_vec();
    }
    let text = text.replace("\\s", " ").replace("\\n", "\n");
    text.replace("\\e", "").into_bytes()
}

/// A NUL, a line break, and bytes that are not UTF-8.
const BINARY: [u8; 5] = [0, 255, 13, 10, 128];

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.client)?;
        for word in &self.words {
            if *word == BINARY {
                write!(f, " \\binary")?;
                continue;
            }
            let text = String::from_utf8_lossy(word);
            let text = text.replace(' ', "\\s").replace('\n', "\\n");
            write!(f, " {}", if text.is_empty() { "\\e" } else { &text })?;
        }
        Ok(())
    }
}

/// Returns the current time, for the model.
pub fn now() -> Now {
    Now {
        wall_us: i64::try_from(wall_clock().as_micros()).expect("a time that fits"),
    }
}

/// Maximum number of polls until a server has noticed that waiting clients disconnected.
const MAX_LOOKS: usize = 100_000;

/// A real server with reusable connections.
pub struct Bench {
    server: RealServer,
    version: ServerVersion,
    control: RealClient,
    clients: Vec<RealClient>,
    /// Number of transcripts executed so far.
    pub transcripts: usize,
    /// Scripts of an earlier transcript may still be cached.
    scripts: bool,
    /// Number of transcripts that ended early, because they reached something that the model leaves out.
    pub omitted: usize,
    /// The server may have a setting that the model does not have, such as a password, so it must be restarted.
    pub is_spoilt: bool,
}

impl Bench {
    /// Starts the program and connects the clients.
    pub fn start(version: ServerVersion, program: &Path) -> Bench {
        let server = RealServer::start(program);
        let control = server.connect();
        Bench {
            clients: (0..CLIENTS).map(|_| server.connect()).collect(),
            server,
            version,
            control,
            transcripts: 0,
            scripts: true,
            omitted: 0,
            is_spoilt: false,
        }
    }

    /// Starts a new server in place of this one, and continues its counts.
    pub fn restart(&self, version: ServerVersion, program: &Path) -> Bench {
        Bench {
            transcripts: self.transcripts,
            omitted: self.omitted,
            ..Bench::start(version, program)
        }
    }

    /// Kills the server, and returns the end of its log.
    pub fn end(self) -> String {
        self.server.end()
    }

    /// Executes one transcript on both sides. Returns the first difference as an error.
    pub fn compare(&mut self, steps: &[Step]) -> Result<(), String> {
        self.clean(steps);
        let mut run = Run::new(self.version);
        for step in steps {
            if run.blocked[step.client]
                || self.loses_the_answer(step)
                || run.cannot_be_compared(step)
            {
                continue;
            }
            run.step(self, step)?;
            if run.omitted {
                self.omitted += 1;
                self.is_spoilt = steps.iter().any(|step| step.is("CONFIG"));
                break;
            }
        }
        run.settle(self)?;
        for client in 0..CLIENTS {
            if run.blocked[client] || run.omitted {
                self.clients[client] = self.server.connect();
            } else {
                let left = self.clients[client].ask(&["RESET"]);
                if left != Reply::Simple("RESET".into()) {
                    return Err(format!("{}client {client} also got {left:?}", run.log));
                }
            }
        }
        self.wait_until_nobody_waits();
        Ok(())
    }

    /// Waits until the server has noticed that the waiting clients disconnected. It can notice this after it executes
    /// a later command of another connection, and a client that still waits would take an element that the next
    /// transcript adds.
    fn wait_until_nobody_waits(&mut self) {
        for _ in 0..MAX_LOOKS {
            let said = self.control.ask(&["INFO", "clients"]);
            let is_none = |text: &str| text.lines().any(|line| line.trim() == "blocked_clients:0");
            if matches!(&said, Reply::Bulk(text) if is_none(&String::from_utf8_lossy(text))) {
                return;
            }
        }
        panic!("a client still waits whose connection is closed");
    }

    /// Returns `true` for a step whose reply is lost. Redis 8.0.2 and Valkey 8.1.1 as packaged by Debian 13 do not
    /// reply to a failed AUTH that arrives in one packet with an earlier command: `SET a 1`, `AUTH nobody x`, `GET a`
    /// gets two replies.
    fn loses_the_answer(&self, step: &Step) -> bool {
        let auth = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"AUTH");
        matches!(
            self.version,
            ServerVersion::Redis80 | ServerVersion::Valkey81
        ) && (step.is("AUTH") || step.is("HELLO"))
            && step.words.iter().any(auth)
    }

    fn clean(&mut self, steps: &[Step]) {
        self.transcripts += 1;
        if self.transcripts.is_multiple_of(RENEW_EVERY) {
            self.clients = (0..CLIENTS).map(|_| self.server.connect()).collect();
        }
        for client in &mut self.clients {
            client.queue(&["RESET"]);
            client.send();
        }
        for client in &mut self.clients {
            client.read();
        }
        self.control.ask(&["FLUSHALL"]);
        if self.scripts {
            self.control.ask(&["SCRIPT", "FLUSH"]);
        }
        let scripts = ["EVAL", "EVAL_RO", "SCRIPT"];
        self.scripts = steps
            .iter()
            .any(|step| scripts.iter().any(|name| step.is(name)));
    }
}

/// A reply of the model that the real server has yet to send.
struct Expected {
    step: Step,
    reply: Reply,
    /// For EXEC, the queued commands.
    queued: Vec<Step>,
}

/// A transcript in progress.
struct Run {
    version: ServerVersion,
    model: Server,
    ids: Vec<ClientId>,
    queued: Vec<Option<Vec<Step>>>,
    blocked: Vec<bool>,
    /// The client whose batch is being collected, and the expected replies.
    batch: (usize, Vec<Expected>),
    /// The model rejected a command that it does not implement.
    omitted: bool,
    log: String,
}

impl Run {
    fn new(version: ServerVersion) -> Run {
        let mut model = Server::new(version);
        Run {
            version,
            ids: (0..CLIENTS).map(|_| model.connect()).collect(),
            model,
            queued: vec![None; CLIENTS],
            blocked: vec![false; CLIENTS],
            batch: (0, Vec::new()),
            omitted: false,
            log: String::new(),
        }
    }

    fn step(&mut self, bench: &mut Bench, step: &Step) -> Result<(), String> {
        if self.batch.0 != step.client {
            self.settle(bench)?;
            self.batch.0 = step.client;
        }
        if self.omitted {
            return Ok(());
        }
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        let reply = self.model.execute(self.ids[step.client], &words, now());
        bench.clients[step.client].queue(&step.words);
        let queued = self.record_transaction(step, &reply);
        let messages = self.model.take_messages();
        let own = |(id, message): &(ClientId, Reply)| {
            *id == self.ids[step.client] && matches!(message, Reply::Push(_))
        };
        if comparison::own_messages_come_first(self.version) && messages.iter().any(own) {
            if step.is("EXEC") {
                // The messages are mixed with the replies, which is not valid RESP.
                self.omitted = true;
                return Ok(());
            }
            self.settle(bench)?;
            self.deliver(bench, messages)?;
            if self.omitted {
                return Ok(());
            }
            let expected = Expected {
                step: step.clone(),
                reply,
                queued,
            };
            return self.check(&expected, bench.clients[step.client].read());
        }
        if reply == Reply::Blocked {
            self.settle(bench)?;
            if self.omitted {
                return Ok(());
            }
            bench.control.ask(&["PING"]);
            self.blocked[step.client] = true;
            writeln!(self.log, "{step} (waits)").expect("memory");
            self.let_time_out(bench);
        } else {
            self.batch.1.push(Expected {
                step: step.clone(),
                reply,
                queued,
            });
        }
        self.deliver(bench, messages)?;
        // A wait may just have timed out.
        let late = self.model.take_messages();
        self.deliver(bench, late)
    }

    /// Compares the out-of-band messages of the clients.
    fn deliver(
        &mut self,
        bench: &mut Bench,
        messages: Vec<(ClientId, Reply)>,
    ) -> Result<(), String> {
        for (id, messages) in comparison::by_client(messages) {
            self.settle(bench)?;
            if self.omitted {
                return Ok(());
            }
            let mut ids = self.ids.iter();
            let client = ids.position(|other| *other == id).expect("a client");
            // In RESP3, a blocked client may also have subscriptions, and stays blocked.
            self.blocked[client] &= messages.iter().all(|one| matches!(one, Reply::Push(_)));
            let real = messages.iter().map(|_| bench.clients[client].read());
            let real = comparison::without_order_of_patterns(real.collect());
            let messages = comparison::without_order_of_patterns(messages);
            for (reply, real) in messages.into_iter().zip(real) {
                let expected = Expected {
                    step: Step::parse(&format!("{client}: (served)")),
                    reply,
                    queued: Vec::new(),
                };
                self.check(&expected, real)?;
            }
        }
        Ok(())
    }

    /// Lets a wait of a few milliseconds time out. Other waits are too long to end within a transcript.
    fn let_time_out(&mut self, bench: &mut Bench) {
        let Some(due) = self.model.next_timeout() else {
            return;
        };
        if due.wall_us - now().wall_us > MAX_NAP_US {
            return;
        }
        // An idle server checks for expired waits ten times a second. After a command it checks again before it
        // sleeps.
        while now() <= due {
            bench.control.ask(&["PING"]);
        }
        bench.control.ask(&["PING"]);
        self.model.time_out(now());
    }

    /// Returns `true` if the reply of EXEC is not valid RESP, because SUBSCRIBE sends one confirmation per channel in
    /// place of one reply. Also returns `true` if Redis 6.2 checks the words of a subcommand later, or not at all,
    /// which the model leaves out.
    fn cannot_be_compared(&self, step: &Step) -> bool {
        let any = |names: &[&str]| names.iter().any(|name| step.is(name));
        let is_queued = self.queued[step.client].is_some();
        let is_old = self.version == ServerVersion::Redis62;
        let several = any(&["SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE"]);
        is_queued && several
            || is_old && is_queued && any(&["CLIENT", "CONFIG", "SCRIPT"])
            || is_old && step.is("SCRIPT") && step.words.len() == 2
    }

    /// Tracks MULTI and EXEC, to match replies with queued commands.
    fn record_transaction(&mut self, step: &Step, reply: &Reply) -> Vec<Step> {
        let queued = &mut self.queued[step.client];
        if step.is("MULTI") && !reply.is_error() {
            queued.get_or_insert_default();
        }
        if *reply == Reply::Simple("QUEUED".into()) {
            queued.get_or_insert_default().push(step.clone());
            return Vec::new();
        }
        if step.is("MULTI") && !reply.is_error() {
            queued.get_or_insert_default();
        }
        if step.is("EXEC") || step.is("DISCARD") || step.is("RESET") {
            return queued.take().unwrap_or_default();
        }
        Vec::new()
    }

    /// Sends the batch, and compares the replies.
    fn settle(&mut self, bench: &mut Bench) -> Result<(), String> {
        let client = &mut bench.clients[self.batch.0];
        client.send();
        for expected in std::mem::take(&mut self.batch.1) {
            if is_left_out(&expected.reply) {
                // The server may never reply: `WAITAOF 0 10 0` waits forever. A run would be `unknown`, and from here
                // on the two may differ.
                self.omitted = true;
            }
            if self.omitted {
                return Ok(());
            }
            let client = &mut bench.clients[self.batch.0];
            let real = match &expected.reply {
                Reply::Several(replies) => {
                    Reply::Several(replies.iter().map(|_| client.read()).collect())
                }
                _ => client.read(),
            };
            self.check(&expected, real)?;
        }
        Ok(())
    }

    fn check(&mut self, expected: &Expected, real: Reply) -> Result<(), String> {
        let Expected {
            step,
            reply,
            queued,
        } = expected;
        writeln!(self.log, "{step}").expect("memory");
        let same = same(self.version, step, queued, reply, &real);
        if same {
            return Ok(());
        }
        if is_left_out(reply) {
            self.omitted = true;
            return Ok(());
        }
        Err(format!("{}model: {reply:?}\nreal:  {real:?}", self.log))
    }
}

/// Returns `true` if the model reports that it leaves something out.
fn is_left_out(reply: &Reply) -> bool {
    format!("{reply:?}").contains("the model of Redis")
}

/// Returns the wall clock, which the real server reads too, so that the model has the same time.
#[allow(clippy::disallowed_methods)]
fn wall_clock() -> std::time::Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}
