//! The scripts of a server, which are executed by Lua or by the direct interpreter.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::Function;

use super::super::ServerVersion;
use super::super::dispatch::Call;
use super::super::reply::{CommandResult, Refusal, refuse};
use super::super::state::State;
use super::shebang;
use super::simple::Program;
use super::{Caller, Engine, Run, Sha, pool, sha_of};

/// A parsed script.
#[derive(Clone)]
struct Script {
    body: Body,
    /// The `no-writes` flag of the first line, if the script has such a line.
    no_writes: Option<bool>,
}

#[derive(Clone)]
enum Body {
    Simple(Arc<Program>),
    Lua(Function),
}

/// One server's scripts.
pub(crate) struct Scripts {
    version: ServerVersion,
    known: BTreeMap<Sha, Script>,
    /// Lua state, taken from the pool when the first script needs it.
    engine: Option<Box<Engine>>,
}

impl Scripts {
    /// Creates an empty set of scripts.
    pub(crate) fn new(version: ServerVersion) -> Scripts {
        Scripts {
            version,
            known: BTreeMap::new(),
            engine: None,
        }
    }

    /// Removes all scripts. The Lua state returns to the pool, unless it has compiled too many scripts.
    pub(crate) fn flush(&mut self) {
        self.known.clear();
        if let Some(engine) = self.engine.take() {
            pool::give_back(*engine);
        }
    }

    /// Returns `true` if Lua has no room for another script. Scripts that a reused Lua state compiled for earlier
    /// servers do not count, because otherwise the result would depend on earlier runs.
    pub(crate) fn is_full(&self) -> bool {
        self.known.len() >= MAX_SCRIPTS
    }

    pub(crate) fn knows(&self, sha: &Sha) -> bool {
        self.known.contains_key(sha)
    }

    /// Parses and stores a script.
    pub(crate) fn load(&mut self, body: &[u8]) -> Result<Sha, Refusal> {
        let (sha, script) = match simple(self.version, body) {
            Some(known) => known,
            None => self.compile(body)?,
        };
        self.known.insert(sha, script);
        Ok(sha)
    }

    fn compile(&mut self, body: &[u8]) -> Result<(Sha, Script), Refusal> {
        let sha = sha_of(body);
        let (no_writes, text) = shebang::read(self.version, body)?;
        let body = Body::Lua(self.engine()?.compile(sha, text)?);
        Ok((sha, Script { body, no_writes }))
    }

    fn engine(&mut self) -> Result<&mut Engine, Refusal> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => pool::lend().map_err(|error| {
                Refusal::new(format!("ERR the model of Redis has no Lua: {error}"))
            })?,
        };
        Ok(self.engine.insert(engine))
    }

    /// Runs a script on the server's memory.
    pub(crate) fn run(
        &mut self,
        state: &mut Box<State>,
        run: &Run<'_>,
        call: Call,
        database: usize,
        read_only: bool,
    ) -> CommandResult {
        let script = self.known.get(run.name).ok_or(MISSING)?;
        if read_only && script.no_writes == Some(false) {
            return refuse("ERR Can not execute a script with write flag using *_ro command.");
        }
        let mut caller = Caller {
            call,
            database,
            no_writes: read_only || script.no_writes == Some(true),
            wrote: false,
        };
        Ok(match &script.body {
            Body::Simple(program) => program.run(state, &mut caller, run),
            Body::Lua(function) => {
                let function = function.clone();
                self.engine()?.run(state, caller, &function, run)
            }
        })
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Refusal if no script has the digest.
pub(crate) const MISSING: Refusal = Refusal::fixed("NOSCRIPT No matching script. Please use EVAL.");

/// Maximum number of scripts. Lua has handles for 8000 values, and each script takes one.
const MAX_SCRIPTS: usize = 4000;

/// Maximum number of cached simple scripts.
const MAX_REMEMBERED: usize = 32;
const MAX_REMEMBERED_LENGTH: usize = 4096;

thread_local! {
    /// Cache of parsed simple scripts. It helps because every node of every run receives the same few scripts.
    static READ: RefCell<Vec<(Vec<u8>, Sha, Script)>> = const { RefCell::new(Vec::new()) };
}

/// Returns the script if it can be executed without Lua.
fn simple(version: ServerVersion, body: &[u8]) -> Option<(Sha, Script)> {
    // The cache is shared by all versions, but only some versions accept a first line that begins with `#!`.
    if body.starts_with(b"#!") && !version.since_70() {
        return None;
    }
    READ.with_borrow_mut(|read| {
        if let Some((_, sha, script)) = read.iter().find(|(known, ..)| known == body) {
            return Some((*sha, script.clone()));
        }
        let (no_writes, text) = shebang::read(version, body).ok()?;
        let program = Body::Simple(Arc::new(Program::read(text)?));
        let script = Script {
            body: program,
            no_writes,
        };
        let sha = sha_of(body);
        if read.len() < MAX_REMEMBERED && body.len() <= MAX_REMEMBERED_LENGTH {
            read.push((body.to_vec(), sha, script.clone()));
        }
        Some((sha, script))
    })
}
