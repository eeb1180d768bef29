//! Looks up and checks a command, and then queues or executes it.

use super::command::{Args, Misuse, Run, RunData, RunWhole, Spec, find, look_up};
use super::command_facts::is_queued;
use super::context::Context;
use super::reply::{Refusal, refuse};
use super::session::{ClientId, Session, Transaction};
use super::state::State;
use super::{Now, Reply, Server};

/// Commands that a RESP2 connection may still send while it has subscriptions.
const WHILE_SUBSCRIBED: [&str; 7] = [
    "ping",
    "quit",
    "reset",
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
];

/// Returns `true` for a modelled command that servers of this version do not have.
pub(super) fn lacks(state: &State, command: &str) -> bool {
    find(command.as_bytes()).is_some_and(|spec| !spec.is_of(state.version))
}

/// Executes one command of one client.
pub(super) fn process(server: &mut Server, client: ClientId, args: Args<'_>, now: Now) -> Reply {
    let Some(name) = args.first() else {
        return Reply::NilArray;
    };
    let (spec, in_transaction) = match admit(server, client, args) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            // A refused command breaks the whole transaction.
            if let Some(transaction) = transaction(&mut server.state, client) {
                transaction.broken = true;
            }
            if name.eq_ignore_ascii_case(b"exec") {
                return abort(&mut server.state, client, &refusal);
            }
            return refusal.into();
        }
    };
    // The session is looked up only within a transaction, because a look-up for every command would take time.
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

/// Ends the transaction of a refused EXEC.
fn abort(state: &mut State, client: ClientId, why: &Refusal) -> Reply {
    if let Some(session) = state.sessions.get_mut(&client) {
        session.transaction = None;
    }
    state.unwatch(client);
    let why = why.0.strip_prefix("ERR ").unwrap_or(&why.0);
    Reply::error(format!("EXECABORT Transaction discarded because of: {why}"))
}

fn transaction(state: &mut State, client: ClientId) -> Option<&mut Transaction> {
    state.sessions.get_mut(&client)?.transaction.as_mut()
}

/// Checks a command before it is queued or executed. Returns `true` if the client is in a transaction.
fn admit(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
) -> Result<(&'static Spec, bool), Refusal> {
    let state = &mut server.state;
    let spec = look_up(state, args).map_err(|misuse| match misuse {
        Misuse::UnknownCommand => Refusal::unknown_command(args),
        Misuse::UnknownSubcommand(spec, word) => Refusal::unknown_subcommand(spec.name, word),
        Misuse::Arity(spec) => Refusal::arity(&spec.name_of(args)),
    })?;
    let session = state.sessions.get(&client);
    let in_transaction = session.is_some_and(|session| session.transaction.is_some());
    let only_listens = session.is_some_and(Session::only_listens);
    if in_transaction && state.version.is_valkey() && ["multi", "watch"].contains(&spec.name) {
        // On Valkey, this refusal breaks the transaction. On Redis, the function of the command refuses it, which
        // does not break the transaction.
        return refuse("ERR Command not allowed inside a transaction");
    }
    if state.out_of_memory && spec.denies_oom {
        return Err(OUT_OF_MEMORY);
    }
    if only_listens && !WHILE_SUBSCRIBED.contains(&spec.name) {
        return Err(Refusal::while_subscribed(&spec.name_of(args)));
    }
    Ok((spec, in_transaction))
}

pub(super) const OUT_OF_MEMORY: Refusal =
    Refusal::fixed("OOM command not allowed when used memory > 'maxmemory'.");

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

/// Executes a command that runs other commands, and reports it to the observer. A script is reported before its
/// execution, a transaction after it.
fn whole(
    server: &mut Server,
    client: ClientId,
    (spec, run): (&'static Spec, RunWhole),
    args: Args<'_>,
    now: Now,
) -> Reply {
    let is_script = spec.name.starts_with("eval");
    let tell = |server: &mut Server| {
        if let Some(report) = &mut server.state.report {
            let session = server.state.sessions.get(&client);
            let database = session.map_or(0, |session| session.database);
            report.executed(now, database, Some(client), args);
        }
    };
    if is_script {
        tell(server);
    }
    let outcome = run(server, client, args, now);
    if !is_script {
        tell(server);
    }
    outcome.unwrap_or_else(Reply::from)
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

/// Executes a command on keys, and records it for replication if it changed something.
pub(super) fn data(
    state: &mut State,
    call: &Call,
    database: &mut usize,
    spec: &'static Spec,
    run: RunData,
    args: Args<'_>,
) -> Reply {
    let mut context = Context {
        state,
        client: call.client,
        database: *database,
        resp3: call.resp3,
        now: call.now,
        may_block: call.may_block,
        name: spec.name,
        changed: false,
        reworded: false,
    };
    let outcome = run(&mut context, args);
    let (changed, reworded) = (context.changed, context.reworded);
    *database = context.database;
    if let Some(report) = &mut state.report {
        let sender = (!call.from_script).then_some(call.client);
        report.executed(call.now, *database, sender, args);
    }
    if changed && !reworded {
        state.effect(*database, args);
    }
    outcome.unwrap_or_else(Reply::from)
}
