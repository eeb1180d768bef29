//! Picklock's adapter protocol, versions 1 and 2, for a lock in Rust. Only the standard library.
//!
//! [`serve`] reads requests from standard input and answers them; docs/protocol.md of Picklock
//! describes them. Rust cannot redirect its standard output: print with `eprintln!`, never with
//! `println!`. Standard error goes to the worker's log.
// A lock rarely needs the whole file.
#![allow(dead_code, unused_imports)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub use crate::lock_contract::{Acting, CleanUp, Failure, Grant, Init, Kind, Lock};
use crate::small_json::Json;

/// Latest supported version; all earlier ones are supported, too.
const PROTOCOL: u64 = 2;

/// Client of each grant, by its token, for events of background tasks.
static CLIENT_OF: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// For each unanswered `acquire` request, by its number: true if its client has given it up.
static GIVEN_UP: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Number of the `acquire` request that this thread handles.
    static ACQUIRES: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Calls `attempt` until it returns a grant or `wait` is over; if `wait` is zero, once. For locks that do not wait
/// by themselves.
pub fn try_for(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<Option<Grant>, Failure>,
) -> Result<Option<Grant>, Failure> {
    let began = Instant::now();
    loop {
        let asked_at = Instant::now();
        if let Some(grant) = attempt()? {
            return Ok(Some(Grant {
                asked_at: grant.asked_at.or(Some(asked_at)),
                ..grant
            }));
        }
        // Different for every client, so that they do not retry in step.
        let jitter = u64::from(std::process::id()) * 7 + u64::from(began.elapsed().subsec_micros());
        let pause = Duration::from_millis(10 + jitter % 40);
        if began.elapsed() + pause >= wait {
            return Ok(None);
        }
        std::thread::sleep(pause);
        if is_given_up() {
            return Ok(None);
        }
    }
}

/// Returns `true` if the client whose `acquire` this thread handles has given it up.
pub fn is_given_up() -> bool {
    let requests = GIVEN_UP.lock();
    requests.is_ok_and(|all| all.get(&ACQUIRES.get()) == Some(&true))
}

/// Reports to Picklock that a lease is lost. For locks that renew in the background.
pub fn lost(token: &str) {
    write(
        client_of(token),
        vec![("event", text("lost")), ("token", text(token))],
    );
}

/// Reports to Picklock that a background task has renewed a lease for `ttl`, counted from `asked_at`.
pub fn extended(token: &str, ttl: Duration, asked_at: Instant) {
    let valid_ms = number(left_ms(ttl, asked_at));
    let event = vec![
        ("event", text("extended")),
        ("token", text(token)),
        ("valid_ms", valid_ms),
    ];
    write(client_of(token), event);
}

/// Answers requests until standard input ends. `options` are the names that `--impl-option` may have.
pub fn serve<L: Lock>(
    make_lock: impl Fn(Init) -> Result<L, Failure>,
    name: &str,
    version: &str,
    options: &[&str],
) {
    serve_with(make_lock, None, name, version, options);
}

/// Like [`serve`], for a lock whose clones share the resources of one process, such as a connection pool or a tokio
/// runtime to block on. The lock is created once, and each client has its own clone and thread.
pub fn serve_clients<L: Lock + Clone + Send + 'static>(
    make_lock: impl Fn(Init) -> Result<L, Failure>,
    name: &str,
    version: &str,
    options: &[&str],
) {
    serve_with(make_lock, Some(start_client), name, version, options);
}

/// Starts a client's thread. Returns the channel for its requests, each with the time at which it was read.
type StartClient<L> = fn(&L) -> Sender<(Json, Instant)>;

fn start_client<L: Lock + Clone + Send + 'static>(lock: &L) -> Sender<(Json, Instant)> {
    let (sender, requests) = channel();
    let mut lock = lock.clone();
    std::thread::spawn(move || {
        for (request, read_at) in requests {
            reply(&request, answer(&request, read_at, Some(&mut lock)));
            if op_of(&request) == "end-client" {
                break;
            }
        }
    });
    sender
}

fn serve_with<L: Lock>(
    make_lock: impl Fn(Init) -> Result<L, Failure>,
    start_client: Option<StartClient<L>>,
    name: &str,
    version: &str,
    options: &[&str],
) {
    let mut lock = None;
    let mut clients = BTreeMap::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let read_at = Instant::now();
        let request = Json::parse(&line);
        let request = request.filter(|request| number_of(request, "id").is_some());
        let Some(request) = request else {
            eprintln!("not a request: {line}");
            continue;
        };
        match op_of(&request) {
            "cancel" => {
                give_up(&request);
                continue;
            }
            "acquire" => waits_for(&request),
            _ => {}
        }
        match (start_client, &lock) {
            (Some(start), Some(made)) => {
                // The only client of a process has no number.
                let client = number_of(&request, "client").unwrap_or_default();
                let requests = clients.entry(client).or_insert_with(|| start(made));
                // The receiver is gone only if its thread has panicked, which is reported on standard error.
                let _ = requests.send((request, read_at));
            }
            _ if op_of(&request) == "init" => {
                let made = init(&request, &make_lock, options).map(|mut made| {
                    made.set_capacity(permits_of(&request, "capacity").unwrap_or(1));
                    if let Some(clean_up) = made.clean_up() {
                        at_sigterm(clean_up);
                    }
                    lock = Some(made);
                    ready::<L>(&request, start_client.is_some(), name, version)
                });
                reply(&request, made);
            }
            _ => reply(&request, answer(&request, read_at, lock.as_mut())),
        }
    }
}

static IS_TERMINATED: AtomicBool = AtomicBool::new(false);

/// Ends the process after the clean-up when it receives SIGTERM. A signal handler may not do the clean-up itself.
fn at_sigterm(clean_up: CleanUp) {
    const SIGTERM: i32 = 15;
    extern "C" {
        fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
    }
    extern "C" fn note(_signal: i32) {
        IS_TERMINATED.store(true, Ordering::Relaxed);
    }
    // Safety: the handler only writes an atomic value.
    unsafe { signal(SIGTERM, note) };
    std::thread::spawn(move || {
        while !IS_TERMINATED.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        clean_up();
        // The status that a shell reports for SIGTERM.
        std::process::exit(143);
    });
}

fn ready<L: Lock>(request: &Json, has_clients: bool, name: &str, version: &str) -> Fields {
    let mut ready = vec![
        ("reply", text("ready")),
        ("name", text(name)),
        ("version", text(version)),
        ("extends", Json::Bool(L::EXTENDS)),
        ("min_hold_ms", number(millis(L::MIN_HOLD))),
        ("lease_margin_ms", number(millis(L::LEASE_MARGIN))),
    ];
    if versions(request).contains(&PROTOCOL) {
        ready.extend([
            ("protocol", number(PROTOCOL)),
            ("clients", Json::Bool(has_clients)),
            ("blocks_thread", Json::Bool(has_clients)),
            ("ends_clients", Json::Bool(has_clients)),
            ("cancels", Json::Bool(has_clients && L::CANCELS)),
            ("fails_sections", Json::Bool(L::FAILS_SECTIONS)),
            ("several_permits", Json::Bool(L::SEVERAL_PERMITS)),
            ("kinds", Json::List(vec![text(L::KIND.name())])),
        ]);
    }
    ready
}

/// Returns the protocol versions that the driver supports.
fn versions(request: &Json) -> Vec<u64> {
    match request.field("protocols") {
        Some(Json::List(versions)) => versions.iter().filter_map(Json::number).collect(),
        _ => number_of(request, "protocol").into_iter().collect(),
    }
}

fn op_of(request: &Json) -> &str {
    request.field("op").and_then(Json::text).unwrap_or_default()
}

fn waits_for(request: &Json) {
    if let (Some(id), Ok(mut all)) = (number_of(request, "id"), GIVEN_UP.lock()) {
        all.insert(id, false);
    }
}

/// Marks an `acquire` request as given up, unless it has been answered.
fn give_up(request: &Json) {
    if let (Some(of), Ok(mut all)) = (number_of(request, "of"), GIVEN_UP.lock()) {
        all.entry(of).and_modify(|given_up| *given_up = true);
    }
}

fn number_of(request: &Json, name: &str) -> Option<u64> {
    request.field(name).and_then(Json::number)
}

fn permits_of(request: &Json, name: &str) -> Option<u32> {
    number_of(request, name).and_then(|permits| u32::try_from(permits).ok())
}

fn reply(request: &Json, answer: Result<Fields, Failure>) {
    let mut answer = answer.unwrap_or_else(error);
    let client = number_of(request, "client");
    let token = answer.iter().find(|(name, _)| *name == "token");
    if let (Some(client), Some((_, Json::Text(token))), Ok(mut all)) =
        (client, token, CLIENT_OF.lock())
    {
        all.insert(token.clone(), client);
    }
    answer.extend(number_of(request, "id").map(|id| ("id", number(id))));
    write(client, answer);
}

fn client_of(token: &str) -> Option<u64> {
    CLIENT_OF.lock().ok()?.get(token).copied()
}

type Fields = Vec<(&'static str, Json)>;

fn answer<L: Lock>(
    request: &Json,
    read_at: Instant,
    lock: Option<&mut L>,
) -> Result<Fields, Failure> {
    let op = op_of(request);
    match op {
        "ping" => return Ok(vec![("reply", text("pong"))]),
        "join" => return Ok(vec![("reply", text("joined"))]),
        "end-client" => return Ok(vec![("reply", text("ended"))]),
        "block" => {
            let for_ms = number_of(request, "for_ms").ok_or_else(|| without("for_ms"))?;
            std::thread::sleep(Duration::from_millis(for_ms));
            return Ok(vec![("reply", text("blocked"))]);
        }
        "acquire" | "extend" | "release" | "act" => {}
        "section-failed" if L::FAILS_SECTIONS => {}
        _ => return Err(Failure::Definite(format!("unknown op {op:?}"))),
    }
    let lock = lock.ok_or_else(|| Failure::Definite("`init` must come first".into()))?;
    let word = |name| {
        request
            .field(name)
            .and_then(Json::text)
            .ok_or_else(|| without(name))
    };
    let duration = |name| {
        let millis = number_of(request, name).map(Duration::from_millis);
        millis.ok_or_else(|| without(name))
    };
    let key = word("key")?;
    match op {
        "release" | "section-failed" => {
            let end = match op {
                "release" => L::release,
                _ => L::section_failed,
            };
            let released = end(lock, key, word("token")?)?;
            let released = released.map_or(Json::Null, Json::Bool);
            Ok(vec![("reply", text("released")), ("released", released)])
        }
        "acquire" => {
            let (ttl, wait) = (duration("ttl_ms")?, duration("wait_ms")?);
            let id = number_of(request, "id").unwrap_or_default();
            ACQUIRES.set(id);
            let outcome = take(lock, request, key, ttl, wait);
            let given_up = GIVEN_UP.lock().ok().and_then(|mut all| all.remove(&id));
            match outcome? {
                None if given_up == Some(true) => Ok(vec![("reply", text("cancelled"))]),
                grant => Ok(granted(grant, ttl, read_at)),
            }
        }
        "act" => Ok(match lock.act(key, word("token")?)? {
            None => vec![("reply", text("refused"))],
            Some(Acting { epoch }) => {
                let epoch = epoch.map(|epoch| ("epoch", number(epoch)));
                [("reply", text("acting"))]
                    .into_iter()
                    .chain(epoch)
                    .collect()
            }
        }),
        _ if !L::EXTENDS => Ok(vec![("reply", text("unsupported"))]),
        _ => {
            let ttl = duration("ttl_ms")?;
            let grant = lock.extend(key, word("token")?, ttl)?;
            Ok(granted(grant, ttl, read_at))
        }
    }
}

/// Takes the lock or some permits of it, or lets a reader in.
fn take<L: Lock>(
    lock: &mut L,
    request: &Json,
    key: &str,
    ttl: Duration,
    wait: Duration,
) -> Result<Option<Grant>, Failure> {
    if request.field("mode").and_then(Json::text) == Some("shared") {
        return lock.acquire_shared(key, ttl, wait);
    }
    if request.field("permits").is_none() {
        return lock.acquire(key, ttl, wait);
    }
    let permits = permits_of(request, "permits").ok_or_else(|| without("permits"))?;
    lock.acquire_permits(key, permits, ttl, wait)
}

fn init<L>(
    request: &Json,
    make_lock: impl Fn(Init) -> Result<L, Failure>,
    known: &[&str],
) -> Result<L, Failure> {
    if !versions(request)
        .iter()
        .any(|version| (1..=PROTOCOL).contains(version))
    {
        let problem = format!("only versions up to {PROTOCOL} of the protocol are supported");
        return Err(Failure::Definite(problem));
    }
    let mut options = BTreeMap::new();
    if let Some(Json::Object(given)) = request.field("options") {
        for (name, value) in given {
            if !known.contains(&name.as_str()) {
                return Err(Failure::Definite(format!(
                    "unknown option {name}; there are {known:?}"
                )));
            }
            options.insert(name.clone(), value.text().unwrap_or_default().to_owned());
        }
    }
    let nodes = match request.field("nodes") {
        Some(Json::List(nodes)) => nodes
            .iter()
            .filter_map(Json::text)
            .map(str::to_owned)
            .collect(),
        _ => return Err(without("nodes")),
    };
    let timeout = number_of(request, "timeout_ms").map(Duration::from_millis);
    let timeout = timeout.ok_or_else(|| without("timeout_ms"))?;
    make_lock(Init {
        nodes,
        timeout,
        options,
    })
}

fn without(field: &str) -> Failure {
    Failure::Definite(format!("the request has no `{field}`"))
}

fn granted(grant: Option<Grant>, ttl: Duration, read_at: Instant) -> Fields {
    let Some(grant) = grant else {
        return vec![("reply", text("refused"))];
    };
    let mut answer = vec![("reply", text("granted")), ("token", text(&grant.token))];
    answer.extend(grant.fence.map(|fence| ("fence", number(fence))));
    // Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
    answer.push(("elapsed_ms", number(millis(read_at.elapsed()))));
    answer.extend(
        grant
            .asked_at
            .map(|asked_at| ("valid_ms", number(left_ms(ttl, asked_at)))),
    );
    answer
}

fn error(failure: Failure) -> Fields {
    let (message, definite) = match failure {
        Failure::Definite(message) => (message, true),
        Failure::Unclear(message) => (message, false),
    };
    eprintln!("{message}");
    let definite = Json::Bool(definite);
    vec![
        ("reply", text("error")),
        ("message", text(&message)),
        ("definite", definite),
    ]
}

fn left_ms(ttl: Duration, asked_at: Instant) -> u64 {
    millis(ttl.saturating_sub(asked_at.elapsed()))
}

/// Returns whole milliseconds, rounded down.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn number(number: u64) -> Json {
    Json::Number(number.to_string())
}

/// Writes a message about a client, or about the only client if `client` is `None`.
fn write(client: Option<u64>, mut fields: Fields) {
    fields.extend(client.map(|client| ("client", number(client))));
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let line = format!("{}\n", Json::Object(fields.collect()));
    let mut output = std::io::stdout().lock();
    // If the reader is gone, standard input ends next.
    let _ = output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush());
}
