//! Scripts.

use super::super::command::{Args, Spec, Subcommand};
use super::super::dispatch::Call;
use super::super::lua::{Run, Script, Sha};
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::session::ClientId;
use super::super::{Now, Reply, Server, ServerVersion};
use super::option_word::is_word;

pub(super) const COMMANDS: &[Spec] = &[
    Spec::whole("eval", -3, |server, client, args, now| {
        eval(server, client, args, now, false)
    }),
    Spec::whole("eval_ro", -3, |server, client, args, now| {
        eval(server, client, args, now, true)
    })
    .on(ServerVersion::since_70),
    Spec::whole("evalsha", -3, |server, client, args, now| {
        evalsha(server, client, args, now, false)
    }),
    Spec::whole("evalsha_ro", -3, |server, client, args, now| {
        evalsha(server, client, args, now, true)
    })
    .on(ServerVersion::since_70),
    Spec::whole("script", -2, script).with(&[
        Subcommand::new("load", 3),
        Subcommand::new("exists", -3).arity_62(-2),
        Subcommand::new("flush", -2),
        Subcommand::new("kill", 2),
    ]),
];

/// How many of the words after the count are keys.
fn count_keys(args: Args<'_>) -> Result<usize, Refusal> {
    keys_of(args, integer_argument(args[2])?)
}

/// The same, where the count has been read.
pub(super) fn keys_of(args: Args<'_>, count: i64) -> Result<usize, Refusal> {
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
    let (sha, script) = load(server, args[1])?;
    let (keys, argv) = args[3..].split_at(keys);
    let run = Run {
        name: &sha,
        keys,
        argv,
    };
    run_script(server, &script, client, &run, now, read_only)
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
    let script = server.scripts.find(&sha).ok_or(MISSING)?;
    let (keys, argv) = args[3..].split_at(keys);
    let run = Run {
        name: &sha,
        keys,
        argv,
    };
    run_script(server, &script, client, &run, now, read_only)
}

fn read_sha(text: &[u8]) -> Option<Sha> {
    let mut sha = Sha::try_from(text).ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

pub(super) const NOT_READ_ONLY: Refusal =
    Refusal::fixed("ERR Can not execute a script with write flag using *_ro command.");

fn run_script(
    server: &mut Server,
    script: &Script,
    client: ClientId,
    run: &Run<'_>,
    now: Now,
    read_only: bool,
) -> Outcome {
    if read_only && script.declares_writes() {
        return Err(NOT_READ_ONLY);
    }
    let session = server.state.sessions.get(&client);
    let call = Call {
        client,
        from_script: true,
        // A script sees RESP2, whatever protocol its client has chosen.
        resp3: false,
        now,
        may_block: false,
    };
    let database = session.map_or(0, |session| session.database);
    let Server { state, scripts, .. } = server;
    Ok(scripts.run(state, script, run, call, database, read_only))
}

fn load(server: &mut Server, body: &[u8]) -> Result<(Sha, Script), Refusal> {
    if server.scripts.is_full() {
        return Err(server
            .state
            .not_modelled("more than 4000 different scripts"));
    }
    server.scripts.load(body)
}

fn script(server: &mut Server, _: ClientId, args: Args<'_>, _: Now) -> Outcome {
    let name = args[1];
    if is_word(name, "LOAD") {
        let (sha, _) = load(server, args[2])?;
        return Ok(Reply::bulk(sha));
    }
    if is_word(name, "EXISTS") {
        let known = args[2..].iter().map(|sha| {
            let script = read_sha(sha).and_then(|sha| server.scripts.find(&sha));
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
