//! Transcripts: what several clients say, carried out by the model and by a real server.

use std::fmt::Write as _;
use std::path::Path;

use picklock_redis_model::{ClientId, Now, Reply, Server, ServerVersion};

use crate::real_redis::{RealClient, RealServer};

/// Clients of one transcript.
pub const CLIENTS: usize = 3;

/// Connections are renewed after so many transcripts; in between, RESET cleans them.
const RENEW_EVERY: usize = 100;

/// One command of one client.
#[derive(Debug, Clone)]
pub struct Step {
    pub client: usize,
    pub words: Vec<Vec<u8>>,
}

impl Step {
    /// From words in one line, `0: SET a b`, each as [`word`] reads it.
    pub fn parse(line: &str) -> Step {
        let (client, words) = line.split_once(": ").expect("client: command");
        Step {
            client: client.parse().expect("a client's number"),
            words: words.split(' ').map(word).collect(),
        }
    }

    fn is(&self, name: &str) -> bool {
        self.words[0].eq_ignore_ascii_case(name.as_bytes())
    }
}

/// A word as it is written in one line: `\\s` is a blank, `\\n` a line break, `\\e` nothing, and
/// `\\binary` stands for bytes that are no text.
pub fn word(text: &str) -> Vec<u8> {
    if text == "\\binary" {
        return BINARY.to_vec();
    }
    let text = text.replace("\\s", " ").replace("\\n", "\n");
    text.replace("\\e", "").into_bytes()
}

/// A NUL, a line break, and what is not UTF-8.
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

/// The time, for the model.
pub fn now() -> Now {
    Now {
        wall_us: i64::try_from(wall_clock().as_micros()).expect("a time that fits"),
    }
}

/// A real server with connections that are used again and again.
pub struct Bench {
    server: RealServer,
    version: ServerVersion,
    control: RealClient,
    clients: Vec<RealClient>,
    /// Transcripts carried out so far.
    pub transcripts: usize,
    /// Scripts of an earlier transcript may still be cached.
    scripts: bool,
    /// Transcripts that ended early, because they came to what the model leaves out.
    pub left_out: usize,
}

impl Bench {
    /// Starts the program, of which the model is made.
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
            left_out: 0,
        }
    }

    /// Carries out one transcript on both sides: the first difference, if any.
    pub fn compare(&mut self, steps: &[Step]) -> Result<(), String> {
        self.clean(steps);
        let mut run = Run::new(self.version);
        for step in steps {
            if run.blocked[step.client] || self.loses_the_answer(step) {
                continue;
            }
            run.step(self, step)?;
            if run.left_out {
                self.left_out += 1;
                break;
            }
        }
        run.settle(self)?;
        for client in 0..CLIENTS {
            if run.blocked[client] {
                self.clients[client] = self.server.connect();
            }
        }
        // What was sent before this has been carried out when this is answered.
        self.control.ask(&["PING"]);
        Ok(())
    }

    /// Redis 8.0.2 and Valkey 8.1.1 as Debian 13 has them send no answer to a failed AUTH that comes in
    /// one packet with an earlier command: `SET a 1`, `AUTH nobody x`, `GET a` gets two answers.
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

/// An answer of the model that the real server has yet to give.
struct Expected {
    step: Step,
    reply: Reply,
    /// For EXEC: what was queued.
    queued: Vec<Step>,
}

/// One transcript under way.
struct Run {
    version: ServerVersion,
    model: Server,
    ids: Vec<ClientId>,
    queued: Vec<Option<Vec<Step>>>,
    blocked: Vec<bool>,
    /// The client whose batch is being gathered, and what must come back.
    batch: (usize, Vec<Expected>),
    /// The model has refused something because it does not know it.
    left_out: bool,
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
            left_out: false,
            log: String::new(),
        }
    }

    fn step(&mut self, bench: &mut Bench, step: &Step) -> Result<(), String> {
        if self.batch.0 != step.client {
            self.settle(bench)?;
            self.batch.0 = step.client;
        }
        let words: Vec<&[u8]> = step.words.iter().map(Vec::as_slice).collect();
        let reply = self.model.execute(self.ids[step.client], &words, now());
        bench.clients[step.client].queue(&step.words);
        let queued = self.note_transaction(step, &reply);
        if reply == Reply::Blocked {
            self.settle(bench)?;
            bench.control.ask(&["PING"]);
            self.blocked[step.client] = true;
            writeln!(self.log, "{step} (waits)").expect("memory");
            return Ok(());
        }
        self.batch.1.push(Expected {
            step: step.clone(),
            reply,
            queued,
        });
        for (id, reply) in self.model.take_messages() {
            self.settle(bench)?;
            let client = self
                .ids
                .iter()
                .position(|other| *other == id)
                .expect("a client");
            self.blocked[client] = false;
            let expected = Expected {
                step: Step::parse(&format!("{client}: (served)")),
                reply,
                queued: Vec::new(),
            };
            self.check(&expected, bench.clients[client].read())?;
        }
        Ok(())
    }

    /// Follows MULTI and EXEC, to know which reply belongs to which queued command.
    fn note_transaction(&mut self, step: &Step, reply: &Reply) -> Vec<Step> {
        let queued = &mut self.queued[step.client];
        if *reply == Reply::Simple("QUEUED".into()) {
            queued.get_or_insert_default().push(step.clone());
            return Vec::new();
        }
        if step.is("EXEC") || step.is("DISCARD") || step.is("RESET") {
            return queued.take().unwrap_or_default();
        }
        Vec::new()
    }

    /// Sends the batch and compares what comes back.
    fn settle(&mut self, bench: &mut Bench) -> Result<(), String> {
        let client = &mut bench.clients[self.batch.0];
        client.send();
        for expected in std::mem::take(&mut self.batch.1) {
            let real = bench.clients[self.batch.0].read();
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
        if format!("{reply:?}").contains("the model of Redis") {
            // It says so, and a run would become `unknown`. From here on the two may differ.
            self.left_out = true;
        }
        if self.left_out {
            return Ok(());
        }
        Err(format!("{}model: {reply:?}\nreal:  {real:?}", self.log))
    }
}

/// Whether two replies to a command are the same, as far as they can be.
fn same(version: ServerVersion, step: &Step, queued: &[Step], model: &Reply, real: &Reply) -> bool {
    if model == real {
        return true;
    }
    if step.is("EXEC")
        && let (Reply::Array(model), Reply::Array(real)) = (model, real)
    {
        return model.len() == real.len()
            && queued.len() == model.len()
            && (queued.iter().zip(model).zip(real))
                .all(|((step, model), real)| same(version, step, &[], model, real));
    }
    match Loose::of(version, step) {
        Loose::Exact => nil_free(model) == nil_free(real),
        Loose::Order => sorted(model) == sorted(real),
        Loose::Clock => close(model, real),
        Loose::Words => {
            close(model, real) || (is_error(model) && is_error(real)) || {
                nil_free(model) == nil_free(real)
            }
        }
        Loose::Kind => {
            !model.is_error() && std::mem::discriminant(model) == std::mem::discriminant(real)
        }
    }
}

/// How exactly replies to a command are compared.
enum Loose {
    /// To the byte. (In RESP3 there is one nil, in the model two.)
    Exact,
    /// The order of elements is the server's secret: SMEMBERS, KEYS.
    Order,
    /// What is left of a lease depends on when the server was asked: TTL and relatives, and the
    /// scripts that call them.
    Clock,
    /// The words of errors are not modelled: scripts of Redis 6.2.
    Words,
    /// The server's own numbers: TIME, INFO, CLIENT ID, HELLO.
    Kind,
}

impl Loose {
    fn of(version: ServerVersion, step: &Step) -> Loose {
        let any = |names: &[&str]| names.iter().any(|name| step.is(name));
        let script_asks_ttl = any(&["EVAL", "EVAL_RO"])
            && step.words.get(1).is_some_and(|body| {
                let body = String::from_utf8_lossy(body).to_ascii_lowercase();
                body.contains("ttl")
            });
        let script_has = |text: &str| {
            any(&["EVAL", "EVAL_RO"])
                && (step.words.get(1))
                    .is_some_and(|body| String::from_utf8_lossy(body).contains(text))
        };
        if version == ServerVersion::Redis62 && any(&["EVAL", "EVALSHA"]) {
            Loose::Words
        } else if version.server() == "valkey" && script_has("pairs(") {
            // Its Lua hashes names in another way.
            Loose::Order
        } else if any(&["SMEMBERS", "KEYS"]) {
            Loose::Order
        } else if any(&["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"]) || script_asks_ttl {
            Loose::Clock
        } else if any(&["TIME", "INFO", "CLIENT", "HELLO"]) {
            Loose::Kind
        } else {
            Loose::Exact
        }
    }
}

/// True for an error, and for the text of one that a script has caught.
fn is_error(reply: &Reply) -> bool {
    match reply {
        Reply::Bulk(bytes) => bytes.starts_with(b"ERR ") || bytes.starts_with(b"@user_script"),
        other => other.is_error(),
    }
}

fn nil_free(reply: &Reply) -> Reply {
    match reply {
        Reply::NilArray => Reply::Nil,
        Reply::Array(items) => Reply::Array(items.iter().map(nil_free).collect()),
        other => other.clone(),
    }
}

fn sorted(reply: &Reply) -> Option<Vec<String>> {
    let (Reply::Array(items) | Reply::Set(items)) = reply else {
        return None;
    };
    let mut items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    items.sort();
    Some(items)
}

/// Positive times may differ by two seconds, in whichever unit they are.
fn close(model: &Reply, real: &Reply) -> bool {
    let (Reply::Int(model), Reply::Int(real)) = (model, real) else {
        return false;
    };
    // Leases in transcripts are 1,000 to 10,000 seconds, or end after the year 2100.
    let in_ms = (500_000..1_000_000_000).contains(real) || *real > 100_000_000_000;
    let slack = if in_ms { 2000 } else { 2 };
    *model > 0 && *real > 0 && model.abs_diff(*real) <= slack
}

/// The wall clock that the real server reads too: the model is told the same time.
#[allow(clippy::disallowed_methods)]
fn wall_clock() -> std::time::Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}
