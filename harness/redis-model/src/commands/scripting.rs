//! Scripts.

use super::super::command::Args;
use super::super::dispatch::Call;
use super::super::lua::{MISSING, Run, Sha};
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal};
use super::super::session::ClientId;
use super::super::{Now, Reply, Server};
use super::option_word::is_word;

/// How many of the words after the count are keys.
fn count_keys(args: Args<'_>) -> Result<usize, Refusal> {
    let count = integer_argument(args[2])?;
    if count > args.len() as i64 - 3 {
        return Err(Refusal::fixed(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    usize::try_from(count).map_err(|_| Refusal::fixed("ERR Number of keys can't be negative"))
}

pub(super) fn eval(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    run_text(server, client, args, now, false)
}

pub(super) fn eval_ro(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    run_text(server, client, args, now, true)
}

pub(super) fn evalsha(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    run_known(server, client, args, now, false)
}

pub(super) fn evalsha_ro(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    run_known(server, client, args, now, true)
}

/// Runs a script that is given as text.
fn run_text(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
    read_only: bool,
) -> CommandResult {
    let keys = count_keys(args)?;
    let sha = load(server, args[1])?;
    run_script(server, client, &run_of(&sha, keys, args), now, read_only)
}

/// Runs a script that is given by its digest.
fn run_known(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
    read_only: bool,
) -> CommandResult {
    let sha = read_sha(args[1]).ok_or(MISSING)?;
    let keys = count_keys(args)?;
    run_script(server, client, &run_of(&sha, keys, args), now, read_only)
}

fn run_of<'a>(sha: &'a Sha, keys: usize, args: Args<'a>) -> Run<'a> {
    let (keys, argv) = args[3..].split_at(keys);
    Run {
        name: sha,
        keys,
        argv,
    }
}

fn read_sha(text: &[u8]) -> Option<Sha> {
    let mut sha = Sha::try_from(text).ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

fn run_script(
    server: &mut Server,
    client: ClientId,
    run: &Run<'_>,
    now: Now,
    read_only: bool,
) -> CommandResult {
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
    scripts.run(state, run, call, database, read_only)
}

fn load(server: &mut Server, body: &[u8]) -> Result<Sha, Refusal> {
    if server.scripts.is_full() {
        return Err(server
            .state
            .not_modelled("more than 4000 different scripts"));
    }
    server.scripts.load(body)
}

pub(super) fn script(server: &mut Server, _: ClientId, args: Args<'_>, _: Now) -> CommandResult {
    let name = args[1];
    if is_word(name, "LOAD") {
        return Ok(Reply::bulk(load(server, args[2])?));
    }
    if is_word(name, "EXISTS") {
        let known = args[2..].iter().map(|sha| {
            let is_known = read_sha(sha).is_some_and(|sha| server.scripts.knows(&sha));
            Reply::Int(i64::from(is_known))
        });
        return Ok(Reply::Array(known.collect()));
    }
    match args[2..] {
        [] => {}
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => {}
        _ => {
            return Err(Refusal::fixed(
                "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
            ));
        }
    }
    server.flush_scripts();
    Ok(Reply::OK)
}
