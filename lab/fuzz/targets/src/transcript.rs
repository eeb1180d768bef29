//! Commands of several clients, executed by the Redis model.
//!
//! The input's first byte selects the server. Each line after it is a command, such as `0 SET a b`: the number of a
//! client, and words in which `\s` is a space, `\n` a line break, `\e` the empty string, and `\0` a zero byte. Other
//! lines are events of the server: see [`Bench::happen`].

use picklock_redis_model::{ClientId, Now, Server, ServerVersion};

/// Number of concurrent clients.
const CLIENTS: usize = 3;

/// The start time, in milliseconds since the Unix epoch.
const BEGIN_MS: i64 = 1_700_000_000_000;

/// Maximum number of lines. More commands take long and cover no new code.
const MAX_LINES: usize = 200;

/// Executes a transcript.
pub fn run(input: &[u8]) {
    let Some((&choice, lines)) = input.split_first() else {
        return;
    };
    let version = ServerVersion::ALL[usize::from(choice) % ServerVersion::ALL.len()];
    let mut bench = Bench::new(version);
    for line in lines.split(|byte| *byte == b'\n').take(MAX_LINES) {
        match line.split_first() {
            Some((digit @ b'0'..=b'9', words)) => bench.say(usize::from(digit - b'0'), words),
            Some((event, rest)) => bench.happen(*event, rest),
            None => {}
        }
    }
}

struct Bench {
    server: Server,
    /// Receives the server's effects.
    replica: Server,
    clients: Vec<ClientId>,
    now_ms: i64,
}

impl Bench {
    fn new(version: ServerVersion) -> Bench {
        let mut server = Server::new(version);
        server.record_effects(true);
        server.report(true);
        server.watch_keys(true);
        let clients = (0..CLIENTS).map(|_| server.connect()).collect();
        Bench {
            server,
            replica: Server::new(version),
            clients,
            now_ms: BEGIN_MS,
        }
    }

    fn now(&self) -> Now {
        Now::from_ms(self.now_ms)
    }

    fn say(&mut self, client: usize, line: &[u8]) {
        let words = line
            .split(|byte| *byte == b' ')
            .filter(|word| !word.is_empty());
        let words: Vec<Vec<u8>> = words.map(unescaped).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let client = self.clients[client % CLIENTS];
        let reply = self.server.execute(client, &words, self.now());
        let resp3 = self.server.speaks_resp3(client);
        let mut bytes = Vec::new();
        reply.encode(resp3, &mut bytes);
        drop(reply.into_value());
        self.deliver();
    }

    /// Drains the server's output: applies the effects to the replica, drops the report, and encodes the messages to
    /// the clients.
    fn deliver(&mut self) {
        for effect in self.server.take_effects() {
            drop(self.replica.apply(&effect, self.now()));
        }
        drop(self.server.take_report());
        let mut touched = Default::default();
        self.server.take_touched(&mut touched);
        for (client, message) in self.server.take_messages() {
            let mut bytes = Vec::new();
            message.encode(self.server.speaks_resp3(client), &mut bytes);
        }
    }

    /// Applies an event that is not a command.
    fn happen(&mut self, event: u8, rest: &[u8]) {
        let number = || -> i64 {
            let text = std::str::from_utf8(rest).unwrap_or_default();
            text.trim().parse().unwrap_or_default()
        };
        match event {
            // The clock advances or jumps.
            b'+' => self.now_ms = self.now_ms.saturating_add(number()),
            b'-' => self.now_ms = self.now_ms.saturating_sub(number()),
            // A client disconnects, and another one connects.
            b'x' => {
                let client = usize::try_from(number()).unwrap_or_default() % CLIENTS;
                self.server.disconnect(self.clients[client]);
                self.clients[client] = self.server.connect();
            }
            b't' => self.time_out(),
            b'e' => self.server.expire_cycle(self.now()),
            b'r' => {
                let keys = self.server.snapshot();
                self.server.restore(keys);
            }
            b'p' => {
                let keys = self.replica.snapshot();
                self.server.restore(keys);
            }
            b'v' => drop(self.server.evict(0, rest)),
            b'f' => self.server.flush(),
            b's' => self.server.flush_scripts(),
            b'm' => self.server.set_out_of_memory(number() != 0),
            b'a' => {
                let changes = u64::try_from(number()).unwrap_or_default();
                self.server.set_acknowledged(1, changes);
            }
            _ => {}
        }
        self.deliver();
    }

    /// Advances the clock to the end of the first wait.
    fn time_out(&mut self) {
        if let Some(end) = self.server.next_timeout() {
            self.now_ms = self.now_ms.max(end.ms());
            self.server.time_out(end.max(self.now()));
        }
    }
}

fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'\\' => match rest.next() {
                Some(b's') => bytes.push(b' '),
                Some(b'n') => bytes.push(b'\n'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'0') => bytes.push(0),
                Some(b'e') | None => {}
                Some(&other) => bytes.push(other),
            },
            other => bytes.push(other),
        }
    }
    bytes
}
