//! Libraries of functions, and their calls.

use super::super::command::{Args, Spec, Subcommand};
use super::super::dispatch::Call;
use super::super::glob;
use super::super::lua::{Functions, Run, StoredFunction};
use super::super::number::integer_argument;
use super::super::reply::{Outcome, Refusal};
use super::super::session::ClientId;
use super::super::{Now, Reply, Server, ServerVersion};
use super::option_word::is_word;
use super::scripting::{NOT_READ_ONLY, keys_of};

pub(super) const COMMANDS: &[Spec] = &[
    Spec::whole("fcall", -3, |server, client, args, now| {
        fcall(server, client, args, now, false)
    })
    .on(ServerVersion::since_70),
    Spec::whole("fcall_ro", -3, |server, client, args, now| {
        fcall(server, client, args, now, true)
    })
    .on(ServerVersion::since_70),
    Spec::whole("function", -2, function)
        .on(ServerVersion::since_70)
        .with(&[
            Subcommand::new("load", -3).grow(),
            Subcommand::new("delete", 3).write(),
            Subcommand::new("flush", -2).write(),
            Subcommand::new("list", -2),
            Subcommand::new("stats", 2),
            Subcommand::new("kill", 2),
            Subcommand::new("dump", 2),
            Subcommand::new("restore", -3).grow(),
            Subcommand::new("help", 2),
        ]),
];

impl Functions {
    /// The command calls a function that is refused when memory is exhausted.
    pub(in super::super) fn need_memory(&self, spec: &Spec, args: Args<'_>) -> bool {
        let function = self.called(spec, args);
        function.is_some_and(|function| !function.allows_oom())
    }

    /// The command calls a function that may write.
    pub(in super::super) fn may_write(&self, spec: &Spec, args: Args<'_>) -> bool {
        let function = self.called(spec, args);
        function.is_some_and(|function| !function.promises_no_writes())
    }

    fn called(&self, spec: &Spec, args: Args<'_>) -> Option<std::sync::Arc<StoredFunction>> {
        let calls = spec.name == "fcall" || spec.name == "fcall_ro";
        calls.then(|| self.find(args[1])).flatten()
    }
}

fn fcall(
    server: &mut Server,
    client: ClientId,
    args: Args<'_>,
    now: Now,
    read_only: bool,
) -> Outcome {
    const MISSING: Refusal = Refusal::fixed("ERR Function not found");
    let function = server.functions.find(args[1]).ok_or(MISSING)?;
    let count = integer_argument(args[2]);
    let count = count.map_err(|_| Refusal::fixed("ERR Bad number of keys provided"))?;
    let (keys, argv) = args[3..].split_at(keys_of(args, count)?);
    if read_only && !function.promises_no_writes() {
        return Err(NOT_READ_ONLY);
    }
    let session = server.state.sessions.get(&client);
    let database = session.map_or(0, |session| session.database);
    let run = Run {
        name: function.name(),
        keys,
        argv,
    };
    let Server {
        state,
        scripts,
        functions,
    } = server;
    let call = Call::of_function(client, now);
    Ok(functions.call(state, scripts, &function, &run, call, database))
}

fn function(server: &mut Server, client: ClientId, args: Args<'_>, now: Now) -> Outcome {
    let word = args[1];
    if is_word(word, "LIST") {
        return list(server, &args[2..]);
    }
    if is_word(word, "STATS") {
        return Ok(stats(server));
    }
    if is_word(word, "KILL") {
        return Err(Refusal::fixed("NOTBUSY No scripts in execution right now."));
    }
    let reply = if is_word(word, "LOAD") {
        load(server, client, &args[2..], now)?
    } else if is_word(word, "DELETE") {
        if !server.functions.delete(args[2]) {
            return Err(Refusal::fixed("ERR Library not found"));
        }
        server.state.keyspace.libraries.remove(args[2]);
        Reply::OK
    } else if is_word(word, "FLUSH") {
        flush(server, args)?
    } else {
        let word = Refusal::quote(word, usize::MAX).to_ascii_uppercase();
        return Err(server.state.not_modelled(&format!("FUNCTION {word}")));
    };
    let session = server.state.sessions.get(&client);
    let database = session.map_or(0, |session| session.database);
    server.state.effect(database, args);
    Ok(reply)
}

fn load(server: &mut Server, client: ClientId, words: Args<'_>, now: Now) -> Outcome {
    let (code, options) = words.split_last().ok_or(Refusal::arity("function|load"))?;
    if let Some(word) = options.iter().find(|word| !is_word(word, "REPLACE")) {
        let word = Refusal::quote(word, usize::MAX);
        return Err(Refusal::of(format!("ERR Unknown option given: {word}")));
    }
    let Server {
        state, functions, ..
    } = server;
    let name = functions.load(
        state,
        Call::of_function(client, now),
        code,
        !options.is_empty(),
    )?;
    let libraries = &mut state.keyspace.libraries;
    libraries.insert(name.clone(), code.to_vec());
    Ok(Reply::Bulk(name))
}

fn flush(server: &mut Server, args: Args<'_>) -> Outcome {
    match args[2..] {
        [] => {}
        [option] if is_word(option, "SYNC") || is_word(option, "ASYNC") => {}
        [_] => {
            return Err(Refusal::fixed(
                "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
            ));
        }
        _ => {
            let version = server.state.version;
            return Err(Refusal::wrong_subcommand_use(version, "FUNCTION", args[1]));
        }
    }
    server.functions.flush();
    server.state.keyspace.libraries.clear();
    Ok(Reply::OK)
}

fn list(server: &Server, words: Args<'_>) -> Outcome {
    let (mut pattern, mut with_code) = (None, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !with_code && is_word(word, "WITHCODE") {
            with_code = true;
        } else if pattern.is_none() && is_word(word, "LIBRARYNAME") {
            let missing = Refusal::fixed("ERR library name argument was not given");
            pattern = Some(*words.next().ok_or(missing)?);
        } else {
            let word = Refusal::quote(word, usize::MAX);
            return Err(Refusal::of(format!("ERR Unknown argument {word}")));
        }
    }
    let libraries = server.functions.libraries().iter();
    let matching = libraries.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        pattern.is_none_or(|pattern: &[u8]| glob::matches(&pattern.to_ascii_lowercase(), &name))
    });
    let libraries = matching.map(|(name, functions)| {
        let functions = functions.iter().map(|function| described(function));
        let mut pairs = vec![
            (Reply::bulk("library_name"), Reply::bulk(name)),
            (Reply::bulk("engine"), Reply::bulk("LUA")),
            (Reply::bulk("functions"), Reply::Array(functions.collect())),
        ];
        if with_code {
            let code = server.state.keyspace.libraries.get(name);
            let code = code.map_or(Reply::Nil, Reply::bulk);
            pairs.push((Reply::bulk("library_code"), code));
        }
        Reply::Map(pairs)
    });
    Ok(Reply::Array(libraries.collect()))
}

fn described(function: &StoredFunction) -> Reply {
    let flags = function.flags().map(|flag| Reply::Simple(flag.into()));
    let description = function.description().map_or(Reply::Nil, Reply::bulk);
    Reply::Map(vec![
        (Reply::bulk("name"), Reply::bulk(function.name())),
        (Reply::bulk("description"), description),
        (Reply::bulk("flags"), Reply::Set(flags.collect())),
    ])
}

/// No function runs while this is answered.
fn stats(server: &Server) -> Reply {
    let number = |count: usize| Reply::Int(count as i64);
    let lua = Reply::Map(vec![
        (
            Reply::bulk("libraries_count"),
            number(server.functions.libraries().len()),
        ),
        (
            Reply::bulk("functions_count"),
            number(server.functions.count()),
        ),
    ]);
    let engines = Reply::Map(vec![(Reply::bulk("LUA"), lua)]);
    Reply::Map(vec![
        (Reply::bulk("running_script"), Reply::Nil),
        (Reply::bulk("engines"), engines),
    ])
}
