//! Scripts.

use super::super::command::{Args, Spec, Subcommand};
use super::super::dispatch::Call;
use super::super::lua::{Engine, Run, Sha, lend};
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::session::ClientId;
use super::super::{Now, Reply, Server};
use super::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::whole("eval", -3, |server, client, args, now| {
        eval(server, client, args, now, false)
    }),
    Spec::whole("eval_ro", -3, |server, client, args, now| {
        eval(server, client, args, now, true)
    }),
    Spec::whole("evalsha", -3, |server, client, args, now| {
        evalsha(server, client, args, now, false)
    }),
    Spec::whole("evalsha_ro", -3, |server, client, args, now| {
        evalsha(server, client, args, now, true)
    }),
    Spec::whole("script", -2, script).with(&[
        Subcommand::new("load", 3),
        Subcommand::new("exists", -3),
        Subcommand::new("flush", -2),
        Subcommand::new("kill", 2),
    ]),
];

/// How many of the words behind the count are keys.
fn count_keys(args: Args<'_>) -> Result<usize, Refusal> {
    let count = integer_argument(args[2])?;
    if count > args.len() as i64 - 3 {
        return Err(Refusal::fixed(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    usize::try_from(count).map_err(|_| Refusal::fixed("ERR Number of keys can't be negative"))
}

fn eval(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
    read_only: bool,
) -> Outcome {
    let keys = count_keys(args)?;
    with_engine(server, |server, engine| {
        let (sha, script) = engine.compile(args[1])?;
        let run = Run {
            script: &script,
            sha: &sha,
            keys: &args[3..3 + keys],
            argv: &args[3 + keys..],
            read_only,
        };
        run_script(server, engine, client, &run, now)
    })
}

fn evalsha(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
    read_only: bool,
) -> Outcome {
    const MISSING: Refusal = Refusal::fixed("NOSCRIPT No matching script. Please use EVAL.");
    let sha = read_sha(args[1]).ok_or(MISSING)?;
    let keys = count_keys(args)?;
    with_engine(server, |server, engine| {
        let script = engine.find(&sha).ok_or(MISSING)?;
        let run = Run {
            script: &script,
            sha: &sha,
            keys: &args[3..3 + keys],
            argv: &args[3 + keys..],
            read_only,
        };
        run_script(server, engine, client, &run, now)
    })
}

fn read_sha(text: &[u8]) -> Option<Sha> {
    Sha::try_from(text.to_ascii_lowercase()).ok()
}

/// Takes the Lua state out of the server for a while; it is made when it is first needed.
fn with_engine(
    server: &mut Server,
    body: impl FnOnce(&mut Server, &mut Engine) -> Outcome,
) -> Outcome {
    let mut engine = match server.engine.take() {
        Some(engine) => engine,
        None => lend(server.state.version)
            .map_err(|error| Refusal::of(format!("ERR the model of Redis has no Lua: {error}")))?,
    };
    let outcome = body(server, &mut engine);
    server.engine = Some(engine);
    outcome
}

fn run_script(
    server: &mut Server,
    engine: &mut Engine,
    client: ClientId,
    run: &Run<'_>,
    now: Now,
) -> Outcome {
    if run.read_only && run.script.declares_writes() {
        return Err(Refusal::fixed(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    let session = server.state.sessions.get(&client);
    let (database, resp3) = session.map_or((0, false), |session| (session.database, session.resp3));
    let call = Call {
        client,
        resp3,
        now,
        may_block: false,
    };
    Ok(engine.run(&mut server.state, run, call, database))
}

fn script(server: &mut Server, _: ClientId, args: Args<'_>, _: Now) -> Outcome {
    let name = args[1];
    if is_word(name, "LOAD") {
        return with_engine(server, |_, engine| {
            let (sha, _) = engine.compile(args[2])?;
            Ok(Reply::bulk(sha))
        });
    }
    if is_word(name, "EXISTS") {
        let engine = server.engine.as_ref();
        let known = args[2..].iter().map(|sha| {
            let script = read_sha(sha).and_then(|sha| engine?.find(&sha));
            Reply::Int(i64::from(script.is_some()))
        });
        return Ok(Reply::Array(known.collect()));
    }
    if is_word(name, "KILL") {
        return Err(Refusal::fixed("NOTBUSY No scripts in execution right now."));
    }
    match args[2..] {
        [] => Ok(flush(server)),
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => Ok(flush(server)),
        _ => Err(Refusal::fixed(
            "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
        )),
    }
}

fn flush(server: &mut Server) -> Reply {
    server.flush_scripts();
    Reply::OK
}
