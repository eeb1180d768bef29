//! A command's way through the server: found, checked, then queued or executed.

use super::command::{Args, Misuse, Run, Spec, exists_elsewhere, find};
use super::command_facts::is_queued;
use super::context::Context;
use super::reply::{Outcome, Refusal};
use super::report::Sender;
use super::session::{ClientId, Session};
use super::state::State;
use super::{Now, Reply, Server};

/// Commands that a RESP2 connection may still send while it is subscribed.
const WHILE_SUBSCRIBED: [&str; 9] = [
    "ping",
    "quit",
    "reset",
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
    "ssubscribe",
    "sunsubscribe",
];

/// Executes one command of one client.
pub(super) fn process(server: &mut Server, client: ClientId, args: Args<'_>, now: Now) -> Reply {
    let Some(name) = args.first() else {
        return Reply::NilArray;
    };
    let (spec, in_transaction) = match admit(server, client, name, args) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            // A refused command makes the whole transaction fail.
            if let Some(transaction) = transaction(&mut server.state, client) {
                transaction.broken = true;
            }
            if is_exec(name) {
                return abort(&mut server.state, client, &refusal);
            }
            return refusal.into();
        }
    };
    // Few commands are in a transaction, so the session is looked up for these only.
    if in_transaction
        && is_queued(spec.name)
        && let Some(transaction) = transaction(&mut server.state, client)
    {
        let words = args.iter().map(|word| word.to_vec()).collect();
        transaction.queue.push(words);
        return Reply::Simple("QUEUED".into());
    }
    let reply = run(server, client, spec, args, now, true);
    if server.state.record_effects
        && let recorded = server.state.recorded
        && let Some(session) = server.state.sessions.get_mut(&client)
    {
        session.recorded = recorded;
    }
    if !server.state.ready.is_empty() {
        super::blocking::serve(&mut server.state, now);
    }
    reply
}

fn is_exec(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"exec")
}

/// A refused EXEC ends its transaction.
fn abort(state: &mut State, client: ClientId, why: &Refusal) -> Reply {
    if let Some(session) = state.sessions.get_mut(&client) {
        session.transaction = None;
    }
    state.unwatch(client);
    let why = why.0.strip_prefix("ERR ").unwrap_or(&why.0);
    Reply::error(format!("EXECABORT Transaction discarded because of: {why}"))
}

fn transaction(state: &mut State, client: ClientId) -> Option<&mut super::session::Transaction> {
    state.sessions.get_mut(&client)?.transaction.as_mut()
}

/// The checks before a command is queued or executed. True: the client is in a transaction.
fn admit(
    server: &mut Server,
    client: ClientId,
    name: &[u8],
    args: Args<'_>,
) -> Result<(&'static Spec, bool), Refusal> {
    let Server {
        state, functions, ..
    } = server;
    let Some(spec) = find(name, state.version) else {
        return Err(unknown(state, name, args));
    };
    let session = state.sessions.get(&client);
    let in_transaction = session.is_some_and(|session| session.transaction.is_some());
    let only_listens = session.is_some_and(Session::only_listens);
    let misuse = spec.check(args, state.version);
    match misuse {
        Misuse::None => {}
        // Redis 6.2 looks at subcommands only when they are executed.
        Misuse::Arity(Some(_)) | Misuse::Unknown(_)
            if !state.version.since_70() && in_transaction =>
        {
            return Err(state.not_modelled("a wrong subcommand in a transaction"));
        }
        Misuse::Arity(Some(_)) | Misuse::Unknown(_) if !state.version.since_70() => {
            while_subscribed(state, only_listens, spec, args)?;
            if let Misuse::Unknown(word) = misuse {
                return Err(unknown_subcommand(state, spec, word));
            }
            // The word as the client wrote it.
            return Err(Refusal::unknown_subcommand(
                state.version,
                spec.name,
                args[1],
            ));
        }
        Misuse::Arity(Some(word)) => {
            return Err(Refusal::arity(&format!("{}|{word}", spec.name)));
        }
        Misuse::Arity(None) => return Err(Refusal::arity(spec.name)),
        Misuse::Unknown(word) => return Err(unknown_subcommand(state, spec, word)),
    }
    if in_transaction && let Some(refusal) = Refusal::not_in_transaction(state.version, spec.name) {
        return Err(refusal);
    }
    if state.out_of_memory && (spec.needs_memory(args) || functions.need_memory(spec, args)) {
        return Err(OUT_OF_MEMORY);
    }
    if state.read_only && (spec.changes_keys(args) || functions.may_write(spec, args)) {
        return Err(READ_ONLY);
    }
    while_subscribed(state, only_listens, spec, args)?;
    Ok((spec, in_transaction))
}

/// A RESP2 connection with subscriptions can send few commands.
fn while_subscribed(
    state: &State,
    only_listens: bool,
    spec: &Spec,
    args: Args<'_>,
) -> Result<(), Refusal> {
    if !only_listens || WHILE_SUBSCRIBED.contains(&spec.name) {
        return Ok(());
    }
    let name = spec.name_of(args, state.version);
    Err(Refusal::while_subscribed(state.version, &name))
}

pub(super) const OUT_OF_MEMORY: Refusal =
    Refusal::fixed("OOM command not allowed when used memory > 'maxmemory'.");
pub(super) const READ_ONLY: Refusal =
    Refusal::fixed("READONLY You can't write against a read only replica.");

/// The error for an unknown command, in Redis's words. A command that no version has is recorded.
fn unknown(state: &mut State, name: &[u8], args: Args<'_>) -> Refusal {
    if !exists_elsewhere(name) {
        let upper = String::from_utf8_lossy(name).to_ascii_uppercase();
        state.unknown.insert(upper);
    }
    Refusal::unknown_command(state.version, args)
}

fn unknown_subcommand(state: &mut State, spec: &Spec, word: &[u8]) -> Refusal {
    let container = spec.name.to_ascii_uppercase();
    if !spec.subcommand_exists_elsewhere(word) {
        let upper = String::from_utf8_lossy(word).to_ascii_uppercase();
        state.unknown.insert(format!("{container} {upper}"));
    }
    Refusal::unknown_subcommand(state.version, spec.name, word)
}

/// Executes a command that has passed the checks.
pub(super) fn run(
    server: &mut Server,
    client: ClientId,
    spec: &'static Spec,
    args: Args<'_>,
    now: Now,
    may_block: bool,
) -> Reply {
    match spec.run {
        Run::Whole(run) => whole(server, client, (spec, run), args, now),
        Run::Data(run) => {
            let Some(session) = server.state.sessions.get(&client) else {
                return Reply::error("ERR the model of Redis has no such connection");
            };
            let (mut database, resp3) = (session.database, session.resp3);
            let call = Call {
                client,
                from_script: false,
                resp3,
                now,
                may_block,
            };
            let before = database;
            let reply = data(&mut server.state, &call, &mut database, spec, run, args);
            if database != before
                && let Some(session) = server.state.sessions.get_mut(&client)
            {
                session.database = database;
            }
            reply
        }
    }
}

/// What runs a command that needs the whole server.
type RunWhole = fn(&mut Server, ClientId, Args<'_>, Now) -> Outcome;

/// Executes a command that runs others, and tells the observer: of a script before it, of a transaction
/// after it.
fn whole(
    server: &mut Server,
    client: ClientId,
    (spec, run): (&'static Spec, RunWhole),
    args: Args<'_>,
    now: Now,
) -> Reply {
    let is_script = spec.name.starts_with("eval") || spec.name.starts_with("fcall");
    let tell = |server: &mut Server| {
        if let Some(report) = &mut server.state.report {
            let session = server.state.sessions.get(&client);
            let database = session.map_or(0, |session| session.database);
            report.executed(now, database, Sender::Client(client), args);
        }
    };
    if is_script {
        tell(server);
    }
    let outcome = run(server, client, args, now);
    if !is_script {
        tell(server);
    }
    let version = server.state.version;
    outcome.unwrap_or_else(|refusal| refusal.worded(version).into())
}

/// The caller of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub client: ClientId,
    pub from_script: bool,
    pub resp3: bool,
    pub now: Now,
    pub may_block: bool,
}

impl Call {
    /// A function calls, or the code of a library while it is loaded.
    pub(super) fn of_function(client: ClientId, now: Now) -> Call {
        Call {
            client,
            from_script: true,
            // It sees RESP2, whatever protocol its client has chosen.
            resp3: false,
            now,
            may_block: false,
        }
    }
}

/// Executes a command on keys, and records it for replication if it changed something.
pub(super) fn data(
    state: &mut State,
    call: &Call,
    database: &mut usize,
    spec: &'static Spec,
    run: fn(&mut Context<'_>, Args<'_>) -> Outcome,
    args: Args<'_>,
) -> Reply {
    let mut context = Context {
        state,
        client: call.client,
        database: *database,
        resp3: call.resp3,
        now: call.now,
        from_script: call.from_script,
        may_block: call.may_block,
        name: spec.name,
        changed: false,
        reworded: false,
    };
    let outcome = run(&mut context, args);
    let (changed, reworded) = (context.changed, context.reworded);
    *database = context.database;
    if let Some(report) = &mut state.report {
        let sender = match call.from_script {
            true => Sender::Script,
            false => Sender::Client(call.client),
        };
        report.executed(call.now, *database, sender, args);
    }
    if changed && !reworded {
        state.effect(*database, args);
    }
    outcome.unwrap_or_else(Reply::from)
}
