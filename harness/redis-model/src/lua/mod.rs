//! Scripts: real Lua 5.1 in Redis's environment, and a direct way for simple scripts.

mod call;
mod convert;
mod functions;
mod fuse;
mod interface;
mod libraries;
mod library_header;
mod pool;
mod raised;
mod random;
mod register;
mod scripts;
mod shebang;
mod simple;
mod table_insert;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{ChunkMode, Function, Lua, MultiValue, StdLib, Table, Value};

use super::dispatch::Call;
use super::reply::Refusal;
use super::state::State;
use super::{Reply, ServerVersion};
use convert::Terms;
pub(super) use functions::{Function as StoredFunction, Functions};
use random::Generator;
use register::Registered;
pub(super) use scripts::{Script, Scripts};

/// What a script gets that passes nearly as many values at once as Lua can hold. There is less room for
/// them here than on a real server.
const NO_ROOM: &str = "C stack overflow";

/// Name of a script: SHA-1 of its text, 40 lower-case hexadecimal digits.
pub(super) type Sha = [u8; 40];

/// What a script runs on: the server's memory, and its caller.
struct ScriptContext {
    state: Box<State>,
    caller: Caller,
}

/// The caller of a script, and its limits.
struct Caller {
    call: Call,
    database: usize,
    no_writes: bool,
    /// It has sent a write command. Redis then no longer stops it for lack of memory.
    wrote: bool,
}

/// What the Lua side can access.
#[derive(Default)]
struct Shared {
    running: Option<ScriptContext>,
    random: Generator,
    /// Instructions of the script so far.
    spent: u64,
    /// A script has changed a setting that outlives it.
    spoilt: bool,
    /// The functions of the library that is being loaded; `None` if none is.
    registered: Option<Vec<Registered>>,
}

/// The Lua state of one server.
struct Engine {
    lua: Lua,
    shared: Arc<Mutex<Shared>>,
    environment: Table,
    enter: Function,
    /// Runs the code of a library of functions. A state for scripts has none.
    load: Option<Function>,
    handler: Function,
    /// Swapped in for the server while a script has the server's own memory.
    spare: Option<Box<State>>,
    /// All scripts that were ever compiled here, whether or not the current server knows them.
    compiled: BTreeMap<Sha, Function>,
    version: ServerVersion,
    /// No script can have left anything behind that another server would see.
    unspoilt: bool,
}

/// A panic while the lock is held has already ended the run. The data is only read to report it.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a script.
pub(super) fn sha_of(body: &[u8]) -> Sha {
    let mut hex = [0; 40];
    for (place, byte) in sha1_smol::Sha1::from(body)
        .digest()
        .bytes()
        .iter()
        .enumerate()
    {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        hex[place * 2] = DIGITS[usize::from(byte >> 4)];
        hex[place * 2 + 1] = DIGITS[usize::from(byte & 15)];
    }
    hex
}

impl Engine {
    /// A new Lua state for scripts.
    fn new(version: ServerVersion) -> mlua::Result<Engine> {
        Engine::set_up(version, false)
    }

    /// A new Lua state, for scripts or for functions.
    fn set_up(version: ServerVersion, for_functions: bool) -> mlua::Result<Engine> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, mlua::LuaOptions::default())?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        // Redis 6.2 does not tell scripts its version.
        let text = version.since_70().then(|| version.redis_number());
        let number = text.map(interface::packed);
        let native = native(version, &lua, &shared)?;
        if for_functions {
            register::add(&native, &lua, &shared, version)?;
        }
        let (environment, enter, load) = lua
            .load(include_str!("prelude.lua"))
            .set_name("=prelude")
            .call::<(Table, Function, Option<Function>)>((native, text, number))?;
        let handler = lua.create_function(annotate)?;
        fuse::set(&lua, &shared)?;
        Ok(Engine {
            lua,
            shared,
            environment,
            enter,
            load,
            handler,
            spare: None,
            compiled: BTreeMap::new(),
            version,
            unspoilt: true,
        })
    }

    /// Compiles and keeps a script, without its first line if that begins with `#!`.
    fn compile(&mut self, sha: Sha, body: &[u8], text: &[u8]) -> Result<Function, Refusal> {
        if let Some(function) = self.compiled.get(&sha) {
            return Ok(function.clone());
        }
        let function = self
            .lua
            .load(text)
            .set_name("@user_script")
            .set_mode(ChunkMode::Text)
            .set_environment(self.environment.clone())
            .into_function()
            .map_err(|error| {
                let reason = syntax_error(&error);
                Refusal::of(format!(
                    "ERR Error compiling script (new function): {reason}"
                ))
            })?;
        self.unspoilt &= !pool::may_leave_traces(body);
        self.compiled.insert(sha, function.clone());
        Ok(function)
    }

    /// Runs a script on the server's memory.
    fn run(
        &mut self,
        state: &mut Box<State>,
        caller: Caller,
        function: &Function,
        run: &Run<'_>,
    ) -> Reply {
        self.take(state, caller);
        let outcome = self.enter(function, run);
        let terms = self.return_state(state);
        fuse::collect(&self.lua);
        match outcome {
            Ok((true, value)) => convert::to_reply(&value, terms)
                .unwrap_or_else(|unknown| state.not_modelled(&format!("{unknown}")).into()),
            Ok((false, error)) => {
                let text = convert::error_text(self.version, &error, run.name);
                let raised = match &error {
                    Value::String(text) => text.to_string_lossy(),
                    _ => text.clone(),
                };
                if let Some(refusal) = fuse::out_of_memory(state, &raised) {
                    return refusal.into();
                }
                if text.contains(NO_ROOM) {
                    state.not_modelled("as many values at once as Lua can hold");
                }
                Reply::Error(text.into())
            }
            Err(error) => match fuse::out_of_memory(state, &error.to_string()) {
                Some(refusal) => refusal.into(),
                None => Reply::error(format!("ERR {error}")),
            },
        }
    }

    /// Takes the server's memory into the Lua state.
    fn take(&mut self, state: &mut Box<State>, caller: Caller) {
        let mut shared = lock(&self.shared);
        shared.spent = 0;
        let own = std::mem::replace(state, self.spare.take().unwrap_or_default());
        shared.running = Some(ScriptContext { state: own, caller });
    }

    /// Gives the server's memory back.
    fn return_state(&mut self, state: &mut Box<State>) -> Terms {
        let Some(running) = lock(&self.shared).running.take() else {
            return Terms::default();
        };
        self.spare = Some(std::mem::replace(state, running.state));
        Terms {
            version: self.version,
            resp3: running.caller.call.resp3,
        }
    }

    fn enter(&self, function: &Function, run: &Run<'_>) -> mlua::Result<(bool, Value)> {
        let (keys, argv) = (self.list(run.keys)?, self.list(run.argv)?);
        let results: MultiValue = self.enter.call((function, &self.handler, keys, argv))?;
        let mut results = results.into_iter();
        let ok = matches!(results.next(), Some(Value::Boolean(true)));
        Ok((ok, results.next().unwrap_or(Value::Nil)))
    }
}

impl Engine {
    /// True if no script can have left anything behind.
    fn is_unspoilt(&self) -> bool {
        self.unspoilt && !lock(&self.shared).spoilt
    }

    /// Words as a Lua table. Text is passed without a handle for each word.
    fn list(&self, words: &[&[u8]]) -> mlua::Result<Table> {
        let text: Result<Vec<&str>, _> =
            words.iter().map(|word| std::str::from_utf8(word)).collect();
        if let Ok(text) = text {
            return self.lua.create_sequence_from(text);
        }
        let table = self.lua.create_table_with_capacity(words.len(), 0)?;
        for (at, word) in words.iter().enumerate() {
            table.raw_set(at + 1, self.lua.create_string(word)?)?;
        }
        Ok(table)
    }
}

/// One run of a script.
pub(super) struct Run<'a> {
    /// In the text of errors: a script's digest, or the name of a function.
    pub name: &'a [u8],
    pub keys: &'a [&'a [u8]],
    pub argv: &'a [&'a [u8]],
}

/// The native functions for the prelude.
fn native(version: ServerVersion, lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.set("call", call::function(lua, shared, true)?)?;
    native.set("pcall", call::function(lua, shared, false)?)?;
    native.set("refuse", call::refuse_function(lua, shared)?)?;
    native.set("still_allowed", fuse::function(lua, shared)?)?;
    native.set("random", random::function(lua, shared)?)?;
    native.set("random_seed", random::seed_function(lua, shared)?)?;
    interface::add(&native, lua, shared, version)?;
    native.set("library", libraries::function(lua, shared, version)?)?;
    native.set("sha1hex", lua.create_function(raised::sha1hex)?)?;
    native.set("rawset", lua.create_function(raised::rawset)?)?;
    native.set("readonly", raised::readonly_mark())?;
    native.set("insert", table_insert::function(lua, shared)?)?;
    let noticing = Arc::clone(shared);
    let plain = move |lua: &Lua, raised: Value| {
        fuse::note_caught(&noticing, &raised);
        raised::plain(lua, raised)
    };
    native.set("plain_error", lua.create_function(plain)?)?;
    native.set(
        "error_table",
        lua.create_function(move |lua, text: mlua::String| {
            convert::error_table(lua, &convert::error_code(version, &text.as_bytes()))
        })?,
    )?;
    Ok(native)
}

/// Turns a raised value into the table that Redis makes of it, with the script's line.
fn annotate(lua: &Lua, raised: Value) -> mlua::Result<Table> {
    let table = match raised::plain(lua, raised)? {
        Value::Table(table) => table,
        // It need not be UTF-8.
        Value::String(text) => {
            convert::error_table(lua, &[b"ERR ".as_slice(), &text.as_bytes()].concat())?
        }
        other => {
            let text = other.to_string().unwrap_or_default();
            convert::error_table(lua, format!("ERR {text}").as_bytes())?
        }
    };
    for level in 1.. {
        let line = lua.inspect_stack(level, |frame| {
            let source = frame.source().source;
            let name = source.as_deref().and_then(own_source);
            name.map(|name| (name, frame.current_line().unwrap_or(0)))
        });
        match line {
            None => break,
            Some(None) => {}
            Some(Some((source, line))) => {
                table.raw_set("source", source)?;
                table.raw_set("line", line)?;
                break;
            }
        }
    }
    Ok(table)
}

/// The name of a source that is a client's: of a script, or of a library.
fn own_source(name: &str) -> Option<&'static str> {
    ["@user_script", functions::SOURCE]
        .into_iter()
        .find(|own| *own == name)
}

/// Why a text is no Lua.
fn syntax_error(error: &mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
