//! Scripts.

use super::super::command::{Args, is_word};
use super::super::dispatch::Call;
use super::super::lua::{MISSING, Run, Sha};
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::super::session::ClientId;
use super::super::{Now, Reply, Server};

/// Splits the words that follow the number of keys into keys and arguments.
fn split_keys(args: Args<'_>) -> Result<(Args<'_>, Args<'_>), Refusal> {
    let count = integer_argument(args[2])?;
    if count > args.len() as i64 - 3 {
        return refuse("ERR Number of keys can't be greater than number of args");
    }
    match usize::try_from(count) {
        Ok(count) => Ok(args[3..].split_at(count)),
        Err(_) => refuse("ERR Number of keys can't be negative"),
    }
}

/// Runs a script given as text.
pub(super) fn eval<const READ_ONLY: bool>(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    let (keys, argv) = split_keys(args)?;
    let name = &load(server, args[1])?;
    run_script(server, client, &Run { name, keys, argv }, now, READ_ONLY)
}

/// Runs a script given by its digest.
pub(super) fn evalsha<const READ_ONLY: bool>(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
) -> CommandResult {
    let name = &read_sha(args[1]).ok_or(MISSING)?;
    let (keys, argv) = split_keys(args)?;
    run_script(server, client, &Run { name, keys, argv }, now, READ_ONLY)
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
    let Server { state, scripts } = server;
    let session = state.sessions.get(&client);
    let call = Call {
        client,
        from_script: true,
        // Scripts receive RESP2 replies, even if the client has chosen RESP3.
        resp3: false,
        now,
        may_block: false,
    };
    let database = session.map_or(0, |session| session.database);
    scripts.run(state, run, call, database, read_only)
}

fn load(server: &mut Server, body: &[u8]) -> Result<Sha, Refusal> {
    let Server { state, scripts } = server;
    if scripts.is_full() {
        Err(state.not_modelled("more than 4000 different scripts"))
    } else {
        scripts.load(body)
    }
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
        _ => return refuse("ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
    }
    server.flush_scripts();
    Ok(Reply::OK)
}
