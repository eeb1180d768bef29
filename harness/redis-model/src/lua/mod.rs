//! Scripts. The real Lua 5.1 executes them in Redis's environment, except for simple scripts, which are interpreted
//! directly.

mod arguments;
mod call;
mod convert;
mod fuse;
mod json;
mod json_text;
mod pool;
mod raised;
mod scripts;
mod shebang;
mod simple;
mod table_insert;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{ChunkMode, Function, Lua, MultiValue, StdLib, Table, Value};

use super::Reply;
use super::dispatch::Call;
use super::reply::Refusal;
use super::state::State;
pub(super) use scripts::{MISSING, Scripts};

/// Lua's error for a script that passes nearly as many values at once as Lua's stack can hold. The stack is smaller
/// here than on a real server.
const NO_ROOM: &str = "C stack overflow";

/// Name of a script: SHA-1 of its text, 40 lower-case hexadecimal digits.
pub(super) type Sha = [u8; 40];

/// The execution environment of a script: the server's memory, and its caller.
struct ScriptContext {
    state: Box<State>,
    caller: Caller,
}

/// The caller of a script, and its limits.
struct Caller {
    call: Call,
    database: usize,
    no_writes: bool,
    /// Whether the script has sent a write command. Redis no longer stops such a script when memory is exhausted.
    wrote: bool,
}

/// The data that the Lua side can access.
#[derive(Default)]
struct Shared {
    running: Option<ScriptContext>,
    /// Number of instructions of the script so far.
    spent: u64,
}

/// The Lua state of one server.
struct Engine {
    lua: Lua,
    shared: Arc<Mutex<Shared>>,
    environment: Table,
    enter: Function,
    handler: Function,
    /// Placeholder for the server's state while a script owns that state.
    spare: Option<Box<State>>,
    /// All scripts that this Lua state has compiled, including scripts that the current server does not know.
    compiled: BTreeMap<Sha, Function>,
}

/// Locks the shared data. Ignores poisoning: the panic has already ended the run, and the data is only read to report
/// the panic.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name of a script.
pub(super) fn sha_of(body: &[u8]) -> Sha {
    let mut hex = [0; 40];
    let digest = sha1_smol::Sha1::from(body).digest().to_string();
    hex.copy_from_slice(digest.as_bytes());
    hex
}

impl Engine {
    /// Creates a Lua state for scripts.
    fn new() -> mlua::Result<Engine> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, mlua::LuaOptions::default())?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (environment, enter) = lua
            .load(include_str!("prelude.lua"))
            .set_name("=prelude")
            .call::<(Table, Function)>(native(&lua, &shared)?)?;
        let handler = lua.create_function(annotate)?;
        fuse::set(&lua, &shared)?;
        Ok(Engine {
            lua,
            shared,
            environment,
            enter,
            handler,
            spare: None,
            compiled: BTreeMap::new(),
        })
    }

    /// Compiles and stores a script. The caller must remove a first line that begins with `#!`.
    fn compile(&mut self, sha: Sha, text: &[u8]) -> Result<Function, Refusal> {
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
                let reason = match error {
                    mlua::Error::SyntaxError { message, .. } => message,
                    other => other.to_string(),
                };
                Refusal::new(format!(
                    "ERR Error compiling script (new function): {reason}"
                ))
            })?;
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
        self.return_state(state);
        fuse::collect(&self.lua);
        match outcome {
            Ok((true, value)) => convert::to_reply(&value)
                .unwrap_or_else(|unknown| state.not_modelled(&format!("{unknown}")).into()),
            Ok((false, error)) => {
                let text = convert::error_text(&error, run.name);
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

    /// Moves the server's memory into the Lua state.
    fn take(&mut self, state: &mut Box<State>, caller: Caller) {
        let mut shared = lock(&self.shared);
        shared.spent = 0;
        let own = std::mem::replace(state, self.spare.take().unwrap_or_default());
        shared.running = Some(ScriptContext { state: own, caller });
    }

    /// Moves the server's memory back.
    fn return_state(&mut self, state: &mut Box<State>) {
        if let Some(running) = lock(&self.shared).running.take() {
            self.spare = Some(std::mem::replace(state, running.state));
        }
    }

    fn enter(&self, function: &Function, run: &Run<'_>) -> mlua::Result<(bool, Value)> {
        let (keys, argv) = (self.list(run.keys)?, self.list(run.argv)?);
        let results: MultiValue = self.enter.call((function, &self.handler, keys, argv))?;
        let mut results = results.into_iter();
        let ok = matches!(results.next(), Some(Value::Boolean(true)));
        Ok((ok, results.next().unwrap_or(Value::Nil)))
    }

    /// Converts words to a Lua table. Text is passed without a handle for each word.
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

/// One execution of a script.
pub(super) struct Run<'a> {
    /// Digest of the script, for error texts.
    pub name: &'a [u8],
    pub keys: &'a [&'a [u8]],
    pub argv: &'a [&'a [u8]],
}

/// Creates the native functions for the prelude.
fn native(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.set("call", call::function(lua, shared, true)?)?;
    native.set("pcall", call::function(lua, shared, false)?)?;
    native.set("refuse", call::refuse_function(lua, shared)?)?;
    native.set("still_allowed", fuse::function(lua, shared)?)?;
    native.set("json", json::function(lua, shared)?)?;
    native.set("readonly", raised::readonly_mark())?;
    native.set("insert", table_insert::function(lua, shared)?)?;
    let noticing = Arc::clone(shared);
    let plain = move |lua: &Lua, raised: Value| {
        fuse::record_caught(&noticing, &raised);
        raised::plain(lua, raised)
    };
    native.set("plain_error", lua.create_function(plain)?)?;
    native.set(
        "error_table",
        lua.create_function(|lua, text: mlua::String| {
            convert::error_table(lua, &convert::error_code(&text.as_bytes()))
        })?,
    )?;
    Ok(native)
}

/// Converts a raised value to the error table that Redis creates, with the line of the script.
fn annotate(lua: &Lua, raised: Value) -> mlua::Result<Table> {
    let table = match raised::plain(lua, raised)? {
        Value::Table(table) => table,
        // The text need not be UTF-8.
        Value::String(text) => {
            convert::error_table(lua, &[b"ERR ".as_slice(), &text.as_bytes()].concat())?
        }
        other => {
            let text = other.to_string().unwrap_or_default();
            convert::error_table(lua, format!("ERR {text}").as_bytes())?
        }
    };
    let mut lines = (1..).map_while(|level| {
        lua.inspect_stack(level, |frame| {
            let is_own = frame.source().source.as_deref() == Some("@user_script");
            is_own.then(|| frame.current_line().unwrap_or(0))
        })
    });
    if let Some(line) = lines.find_map(|line| line) {
        table.raw_set("line", line)?;
    }
    Ok(table)
}
