//! Commands about connections, and `INFO`.

use super::super::Reply;
use super::super::command::{Args, is_word};
use super::super::context::Context;
use super::super::keyspace::DATABASES;
use super::super::number::integer_argument;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::super::session::Session;

pub(super) fn ping(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let subscribed = context.session().only_listens();
    match args[1..] {
        [] if subscribed => Ok(Reply::bulks(["pong", ""])),
        [] => Ok(Reply::Simple("PONG".into())),
        [word] if subscribed => Ok(Reply::bulks([b"pong", word])),
        [word] => Ok(Reply::bulk(word)),
        _ => Err(Refusal::arity(context.name)),
    }
}

/// Checks the user. Every client is the default user, which needs no password.
fn check_user(user: &[u8]) -> Result<(), Refusal> {
    match user {
        b"default" => Ok(()),
        _ => refuse("WRONGPASS invalid username-password pair or user is disabled."),
    }
}

pub(super) fn auth(_: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match args[1..] {
        [_] => refuse(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        ),
        [user, _] => check_user(user).map(|()| Reply::OK),
        _ => Err(Refusal::SYNTAX),
    }
}

pub(super) fn hello(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    let resp3 = match args.get(1) {
        None => context.session().resp3,
        Some(version) => {
            let version = integer_argument(version).map_err(|_| {
                Refusal::fixed("ERR Protocol version is not an integer or out of range")
            })?;
            if !(2..=3).contains(&version) {
                return refuse("NOPROTO unsupported protocol version");
            }
            version == 3
        }
    };
    let version = context.state.version;
    let mut user_to_check = None;
    let mut words = args.get(2..).unwrap_or_default().iter();
    while let Some(word) = words.next() {
        if is_word(word, "AUTH") && words.len() >= 2 {
            let user = words.next().copied().unwrap_or_default();
            words.next();
            // Since Redis 7.2 all words are parsed before the user is checked, and only the last user counts.
            if version.since_72() {
                user_to_check = Some(user)
            } else {
                check_user(user)?
            }
        } else if is_word(word, "SETNAME") && words.len() >= 1 {
            let wanted = words.next().copied().unwrap_or_default();
            check_name(context, wanted)?;
        } else {
            let word = Refusal::quote(word, usize::MAX);
            return refuse(format!("ERR Syntax error in HELLO option '{word}'"));
        }
    }
    user_to_check.map_or(Ok(()), check_user)?;
    let id = i64::from(context.client.0);
    let session = context.session();
    session.resp3 = resp3;
    let pairs = [
        ("server", Reply::bulk(version.server())),
        ("version", Reply::bulk(version.number())),
        ("proto", Reply::Int(if resp3 { 3 } else { 2 })),
        ("id", Reply::Int(id)),
        ("mode", Reply::bulk("standalone")),
        ("role", Reply::bulk("master")),
        ("modules", Reply::Array(Vec::new())),
    ];
    Ok(Reply::Map(
        pairs.map(|(key, value)| (Reply::bulk(key), value)).into(),
    ))
}

pub(super) fn select(context: &mut Context<'_>, args: Args<'_>) -> CommandResult {
    match usize::try_from(integer_argument(args[1])?) {
        Ok(index) if index < DATABASES => context.database = index,
        _ => return refuse("ERR DB index is out of range"),
    }
    Ok(Reply::OK)
}

/// Checks a name of a client or its library.
pub(super) fn check_name(context: &Context<'_>, name: &[u8]) -> Result<(), Refusal> {
    // Since Redis 7.2 the name is read as a C string, which ends at a zero byte.
    let ends = context.state.version.since_72();
    let mut name = name.iter().take_while(|byte| !ends || **byte != 0);
    if name.all(u8::is_ascii_graphic) {
        Ok(())
    } else {
        refuse("ERR Client names cannot contain spaces, newlines or special characters.")
    }
}

/// Returns the few lines that clients read. Ignores the requested section.
pub(super) fn info(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    let version = context.state.version;
    let name = version.server();
    let compatible = version.redis_number();
    let clients = context.state.sessions.len();
    let text = format!(
        "# Server\r\nredis_version:{compatible}\r\nserver_name:{name}\r\n{name}_version:{}\r\n\
         redis_mode:standalone\r\nos:picklock-model\r\n\r\n# Clients\r\n\
         connected_clients:{clients}\r\n\r\n# Replication\r\nrole:master\r\n\
         connected_slaves:{}\r\n",
        version.number(),
        context.state.replicas,
    );
    Ok(Reply::Verbatim("txt", text.into_bytes()))
}

pub(super) fn reset(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    let client = context.client;
    context.state.unwatch(client);
    *context.session() = Session::default();
    context.database = 0;
    Ok(Reply::Simple("RESET".into()))
}

pub(super) fn readonly(context: &mut Context<'_>, _: Args<'_>) -> CommandResult {
    if context.state.version.is_valkey() {
        Ok(Reply::OK)
    } else {
        refuse("ERR This instance has cluster support disabled")
    }
}
