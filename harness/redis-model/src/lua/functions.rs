//! Libraries of functions: what `FUNCTION LOAD` keeps and `FCALL` calls.
//!
//! They have a Lua state of their own, as on a real server, so they stay when scripts are flushed. A
//! server that has no library has no such state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::ServerVersion;
use super::super::dispatch::Call;
use super::super::reply::Refusal;
use super::super::state::State;
use super::register::{self, FLAGS, Registered};
use super::{Caller, Engine, Run, Scripts, convert, library_header, lock, syntax_error};
use crate::Reply;

/// The name of the source of every library.
pub(super) const SOURCE: &str = "@user_function";

/// Lua has handles for 8000 values, and a function takes one.
pub(super) const MOST_FUNCTIONS: usize = 4000;

/// What the model says of more.
pub(super) const MANY_FUNCTIONS: &str = "more than 4000 functions";

/// A function that can be called.
pub(crate) struct Function {
    registered: Registered,
}

impl Function {
    pub(crate) fn name(&self) -> &[u8] {
        &self.registered.name
    }

    pub(crate) fn description(&self) -> Option<&[u8]> {
        self.registered.description.as_deref()
    }

    /// The flags that it has declared.
    pub(crate) fn flags(&self) -> impl Iterator<Item = &'static str> {
        let flags = FLAGS.into_iter().zip(self.registered.flags);
        flags.filter_map(|(flag, set)| set.then_some(flag))
    }

    /// It promises not to write.
    pub(crate) fn promises_no_writes(&self) -> bool {
        self.registered.flags[0]
    }

    /// It may be called while memory is exhausted.
    pub(crate) fn allows_oom(&self) -> bool {
        self.registered.flags[1] || self.promises_no_writes()
    }
}

/// One server's libraries. Their code is in the keyspace, because it is stored with the keys.
pub(crate) struct Functions {
    version: ServerVersion,
    libraries: BTreeMap<Vec<u8>, Vec<Arc<Function>>>,
    /// By their names in lower case.
    functions: BTreeMap<Vec<u8>, Arc<Function>>,
    engine: Option<Box<Engine>>,
}

impl Functions {
    /// No functions yet.
    pub(crate) fn new(version: ServerVersion) -> Functions {
        Functions {
            version,
            libraries: BTreeMap::new(),
            functions: BTreeMap::new(),
            engine: None,
        }
    }

    /// The libraries with their functions, by name.
    pub(crate) fn libraries(&self) -> &BTreeMap<Vec<u8>, Vec<Arc<Function>>> {
        &self.libraries
    }

    /// How many functions there are.
    pub(crate) fn count(&self) -> usize {
        self.libraries.values().map(Vec::len).sum()
    }

    /// A function by its name, in upper or lower case.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Function>> {
        self.functions.get(&name.to_ascii_lowercase()).cloned()
    }

    /// Forgets all libraries.
    pub(crate) fn flush(&mut self) {
        *self = Functions::new(self.version);
    }

    /// The libraries of the keyspace are others: runs their code again.
    pub(crate) fn reload(&mut self, state: &mut Box<State>, call: Call) {
        if self.libraries.is_empty() && state.keyspace.libraries.is_empty() {
            return;
        }
        self.flush();
        let codes: Vec<Vec<u8>> = state.keyspace.libraries.values().cloned().collect();
        for code in codes {
            if self.load(state, call, &code, true).is_err() {
                state.not_modelled("a library that could be loaded only once");
            }
        }
    }

    /// Forgets a library. True if it existed.
    pub(crate) fn delete(&mut self, library: &[u8]) -> bool {
        let Some(functions) = self.libraries.remove(library) else {
            return false;
        };
        for function in functions {
            self.functions.remove(&function.name().to_ascii_lowercase());
        }
        true
    }

    /// Runs the code of a library and keeps its functions. Returns its name.
    pub(crate) fn load(
        &mut self,
        state: &mut Box<State>,
        call: Call,
        code: &[u8],
        replace: bool,
    ) -> Result<Vec<u8>, Refusal> {
        let header = library_header::read(code)?;
        let name = header.name;
        if !replace && self.libraries.contains_key(&name) {
            let name = String::from_utf8_lossy(&name);
            return Err(Refusal::of(format!("ERR Library '{name}' already exists")));
        }
        let registered = self.run_code(state, call, header.text)?;
        let version = self.version;
        for (place, function) in registered.iter().enumerate() {
            if let Some(why) = register::misnamed(version, &registered[..place], &function.name) {
                return Err(Refusal::fixed(why));
            }
        }
        self.check_names(state, &name, &registered)?;
        self.delete(&name);
        let functions = registered.into_iter();
        let functions: Vec<_> = functions
            .map(|registered| Arc::new(Function { registered }))
            .collect();
        for function in &functions {
            let name = function.name().to_ascii_lowercase();
            self.functions.insert(name, Arc::clone(function));
        }
        self.libraries.insert(name.clone(), functions);
        Ok(name)
    }

    /// Refuses names that functions of other libraries have.
    fn check_names(
        &self,
        state: &mut State,
        library: &[u8],
        registered: &[Registered],
    ) -> Result<(), Refusal> {
        if registered.is_empty() {
            return Err(Refusal::fixed("ERR No functions registered"));
        }
        if self.count() + registered.len() > MOST_FUNCTIONS {
            return Err(state.not_modelled(MANY_FUNCTIONS));
        }
        for (place, function) in registered.iter().enumerate() {
            let taken = |other: &[u8]| other.eq_ignore_ascii_case(&function.name);
            let others = registered[..place].iter();
            if others.map(|other| other.name.as_slice()).any(taken) {
                // The servers keep either.
                let what = "functions of one library whose names differ in capitals only";
                return Err(state.not_modelled(what));
            }
            let others = self.libraries.iter().filter(|(name, _)| *name != library);
            let mut others = others.flat_map(|(_, functions)| functions);
            if others.any(|other| taken(other.name())) {
                let name = String::from_utf8_lossy(&function.name);
                return Err(Refusal::of(format!("ERR Function {name} already exists")));
            }
        }
        Ok(())
    }

    fn engine(&mut self) -> Result<&mut Engine, Refusal> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                let engine = Engine::set_up(self.version, true).map_err(|error| {
                    Refusal::of(format!("ERR the model of Redis has no Lua: {error}"))
                })?;
                Box::new(engine)
            }
        };
        Ok(self.engine.insert(engine))
    }

    fn run_code(
        &mut self,
        state: &mut Box<State>,
        call: Call,
        text: &[u8],
    ) -> Result<Vec<Registered>, Refusal> {
        let caller = Caller {
            call,
            database: 0,
            no_writes: true,
            wrote: false,
        };
        let engine = self.engine()?;
        let code = engine.compile_library(text)?;
        lock(&engine.shared).registered = Some(Vec::new());
        engine.take(state, caller);
        let outcome = engine.load_library(&code);
        engine.return_state(state);
        let registered = lock(&engine.shared).registered.take();
        match outcome {
            Ok(None) => Ok(registered.unwrap_or_default()),
            Ok(Some(why)) => Err(Refusal::of(format!(
                "ERR Error registering functions: {why}"
            ))),
            Err(error) => Err(Refusal::of(format!("ERR {error}"))),
        }
    }

    /// Calls a function on the server's memory.
    pub(crate) fn call(
        &mut self,
        state: &mut Box<State>,
        scripts: &mut Scripts,
        function: &Function,
        run: &Run<'_>,
        call: Call,
        database: usize,
    ) -> Reply {
        let caller = Caller {
            call,
            database,
            no_writes: function.promises_no_writes(),
            // Who has said so is not stopped for lack of memory.
            wrote: function.allows_oom(),
        };
        let engine = match self.engine() {
            Ok(engine) => engine,
            Err(refusal) => return refusal.into(),
        };
        // Scripts and functions draw from one generator.
        scripts.swap_random(&engine.shared);
        let reply = engine.run(state, caller, &function.registered.body, run);
        scripts.swap_random(&engine.shared);
        reply
    }
}

impl Engine {
    /// Compiles the code of a library.
    fn compile_library(&self, text: &[u8]) -> Result<mlua::Function, Refusal> {
        let chunk = self.lua.load(text).set_name(SOURCE);
        let chunk = chunk.set_mode(mlua::ChunkMode::Text);
        let chunk = chunk.set_environment(self.environment.clone());
        chunk.into_function().map_err(|error| {
            let reason = syntax_error(&error);
            Refusal::of(format!("ERR Error compiling function: {reason}"))
        })
    }

    /// Runs the code of a library: the text of the error that it raised, if any.
    fn load_library(&self, code: &mlua::Function) -> mlua::Result<Option<String>> {
        let Some(load) = &self.load else {
            return Err(mlua::Error::runtime("this Lua state is for scripts"));
        };
        let (loaded, raised): (bool, mlua::Value) = load.call((code, &self.handler))?;
        Ok((!loaded).then(|| convert::raised_text(&raised)))
    }
}
