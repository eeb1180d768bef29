use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::error::io_error;
use super::node_log::{Beginning, NodeLog};
use super::port::ReservedPort;
use super::power_loss::UnsyncedTail;
use super::program_fault::ProgramFault;
use super::{
    BackendError, Password, Reaper, Registration, ServerAddress, ShiftedWallClock,
    parent_death_signal, signals, wall_clock_shim,
};

/// A server without data is ready in milliseconds. On a busy machine it may take much longer.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// A server whose connections break may be about to end.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// A program that binds this very port may take it in spite of the reservation.
const PORT_ATTEMPTS: usize = 5;

/// How Redis words that a port is taken.
const PORT_TAKEN: &str = "Address already in use";

/// How to start one server, any number of times.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// `node-0`, `node-0-replica-1`.
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The configuration of a Sentinel, which rewrites it; other servers need none.
    pub sentinel: Option<String>,
    /// What it wants of its clients, and gives to its master.
    pub password: Password,
    /// Directory of the server's data.
    pub data: PathBuf,
    pub log: PathBuf,
    /// A kill also removes what was appended in the last second.
    pub loses_tail: bool,
    /// Its wall clock, if it can be shifted.
    pub wall_clock: Option<Arc<ShiftedWallClock>>,
}

impl Recipe {
    fn sentinel_file(&self) -> PathBuf {
        self.data.join("sentinel.conf")
    }
}

/// One server process: a port of its own, and the process while it is up.
#[derive(Debug)]
pub(super) struct ServerProcess {
    recipe: Recipe,
    port: ReservedPort,
    reaper: Reaper,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    running: Option<RunningServer>,
    log: NodeLog,
}

#[derive(Debug)]
struct RunningServer {
    child: Child,
    leader: u32,
    /// What a power loss would remove, if a kill simulates one.
    unsynced_tail: Option<UnsyncedTail>,
    _registration: Registration,
}

impl ServerProcess {
    /// Starts it on a port of its own, and waits until it accepts connections.
    pub(super) async fn start(recipe: Recipe, reaper: Reaper) -> Result<Self, BackendError> {
        std::fs::create_dir_all(&recipe.data)
            .map_err(io_error(format!("make {}", recipe.data.display())))?;
        if let Some(text) = &recipe.sentinel {
            let path = recipe.sentinel_file();
            write_private(&path, text).map_err(io_error(format!("write {}", path.display())))?;
        }
        let mut attempt = 1;
        loop {
            let port = ReservedPort::any().map_err(io_error("reserve a loopback port"))?;
            match run(&recipe, port.address(), &reaper).await {
                Ok(state) => {
                    let state = Mutex::new(state);
                    return Ok(ServerProcess {
                        recipe,
                        port,
                        reaper,
                        state,
                    });
                }
                Err(BackendError::DiedAtStart { log, .. })
                    if attempt < PORT_ATTEMPTS && log.contains(PORT_TAKEN) =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn address(&self) -> ServerAddress {
        ServerAddress::new(self.port.address(), Some(self.recipe.password))
    }

    pub(super) async fn pause(&self) -> Result<(), BackendError> {
        let state = self.state.lock().await;
        let leader = self.leader(&state)?;
        let doing = format!("freeze {}", self.recipe.name);
        signals::freeze(leader).await.map_err(io_error(doing))
    }

    pub(super) async fn resume(&self) -> Result<(), BackendError> {
        let state = self.state.lock().await;
        let leader = self.leader(&state)?;
        signals::thaw(leader).map_err(io_error(format!("thaw {}", self.recipe.name)))
    }

    pub(super) async fn crash(&self) -> Result<(), BackendError> {
        let mut state = self.state.lock().await;
        self.leader(&state)?;
        self.end(&mut state).await
    }

    pub(super) async fn restart(&self) -> Result<ServerAddress, BackendError> {
        let mut state = self.state.lock().await;
        if state.running.is_some() {
            return Err(BackendError::Up(self.recipe.name.clone()));
        }
        *state = run(&self.recipe, self.port.address(), &self.reaper).await?;
        Ok(self.address())
    }

    pub(super) async fn set_clock_off(&self, off_ns: i64) -> Result<(), BackendError> {
        let Recipe {
            name, wall_clock, ..
        } = &self.recipe;
        wall_clock_shim::set_off(name, self.address(), wall_clock.as_deref(), off_ns).await
    }

    /// Kills it, if it is up.
    pub(super) async fn stop(&self) -> Result<(), BackendError> {
        let mut state = self.state.lock().await;
        self.end(&mut state).await
    }

    pub(super) async fn log_tail(&self, lines: usize) -> String {
        self.state.lock().await.log.tail(lines)
    }

    /// Whether it has ended, and its last words. A process that is ending gets a moment to do so.
    pub(super) async fn condition(&self) -> String {
        let mut state = self.state.lock().await;
        let is_there = match &mut state.running {
            None => "it is down".to_owned(),
            Some(running) => match tokio::time::timeout(END_PATIENCE, running.child.wait()).await {
                Ok(Ok(status)) => format!("its process has ended ({status})"),
                Ok(Err(error)) => format!("its process cannot be asked: {error}"),
                Err(_) => "its process runs".to_owned(),
            },
        };
        format!("{is_there}; {}", state.log.last_words())
    }

    fn leader(&self, state: &State) -> Result<u32, BackendError> {
        let running = state.running.as_ref();
        running
            .map(|running| running.leader)
            .ok_or_else(|| BackendError::Down(self.recipe.name.clone()))
    }

    async fn end(&self, state: &mut State) -> Result<(), BackendError> {
        let Some(mut running) = state.running.take() else {
            return Ok(());
        };
        let doing = format!("kill {}", self.recipe.name);
        let lost_at_ns = running.unsynced_tail.as_ref().map(UnsyncedTail::now_ns);
        running.kill_group().map_err(io_error(doing.clone()))?;
        running.child.wait().await.map_err(io_error(doing))?;
        if let (Some(unsynced_tail), Some(lost_at_ns)) = (&running.unsynced_tail, lost_at_ns) {
            let doing = format!("cut the append-only file of {}", self.recipe.name);
            unsynced_tail.cut(lost_at_ns).map_err(io_error(doing))?;
        }
        Ok(())
    }
}

impl RunningServer {
    fn kill_group(&self) -> io::Result<()> {
        // After a child is reaped, its id may belong to another process.
        match self.child.id() {
            Some(leader) => signals::kill_group(leader),
            None => Ok(()),
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.kill_group();
    }
}

/// Starts the server once, and waits until it says that it accepts connections.
async fn run(recipe: &Recipe, address: SocketAddr, reaper: &Reaper) -> Result<State, BackendError> {
    let doing = format!("write {}", recipe.log.display());
    let (log, output) = NodeLog::open(&recipe.log).map_err(io_error(doing))?;
    let mut running = spawn(recipe, address, reaper, output)?;
    match tokio::time::timeout(START_PATIENCE, log.beginning()).await {
        Ok(Beginning::Ready) => {
            running.unsynced_tail = recipe.loses_tail.then(|| UnsyncedTail::watch(&recipe.data));
            let running = Some(running);
            Ok(State { running, log })
        }
        Ok(Beginning::Ended) => {
            // It may only have closed its output, but then it is of no use.
            let _ = running.kill_group();
            let status = running.child.wait().await;
            Err(BackendError::DiedAtStart {
                node: recipe.name.clone(),
                program: recipe.program.clone(),
                status: status.map_or_else(|e| e.to_string(), |status| status.to_string()),
                log: log.last_words(),
            })
        }
        Err(_) => Err(BackendError::NotReady {
            node: recipe.name.clone(),
            after: START_PATIENCE,
            log: log.last_words(),
        }),
    }
}

/// A file that no other user can read, in a directory that no other user can enter.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// The settings that nobody else may read, as the server's standard input: its command line can be read
/// by everybody, and a configuration file would be rewritten by the Sentinels' `CONFIG REWRITE`.
fn secrets(password: Password) -> io::Result<Stdio> {
    let (reader, mut writer) = io::pipe()?;
    let password = password.text();
    // It fits into the pipe, so nobody has to read yet.
    writer.write_all(format!("requirepass {password}\nmasterauth {password}\n").as_bytes())?;
    Ok(reader.into())
}

fn spawn(
    recipe: &Recipe,
    address: SocketAddr,
    reaper: &Reaper,
    output: io::PipeWriter,
) -> Result<RunningServer, BackendError> {
    let cannot_run = |source| BackendError::CannotRun {
        program: recipe.program.clone(),
        why: ProgramFault::of(&recipe.program),
        source,
    };
    let mut command = Command::new(&recipe.program);
    if recipe.sentinel.is_some() {
        // The configuration file must be the first argument.
        command.arg(recipe.sentinel_file()).arg("--sentinel");
        command.stdin(Stdio::null());
    } else {
        command
            .arg("-")
            .stdin(secrets(recipe.password).map_err(cannot_run)?);
    }
    command
        .args(["--port", &address.port().to_string()])
        .args(["--bind", &address.ip().to_string()])
        .args(["--protected-mode", "yes"])
        .arg("--dir")
        .arg(&recipe.data)
        .args(&recipe.arguments)
        .current_dir(&recipe.data)
        .stderr(output.try_clone().map_err(cannot_run)?)
        .stdout(output)
        .kill_on_drop(true);
    parent_death_signal::prepare(&mut command);
    if let Some(wall_clock) = &recipe.wall_clock {
        command.envs(wall_clock.environment());
    }
    let child = command.spawn().map_err(cannot_run)?;
    // The command holds copies of the pipe's writing end. While they exist, the log does not end.
    drop(command);
    let leader = child.id().unwrap_or_default();
    let registration = reaper.group(leader)?;
    Ok(RunningServer {
        child,
        leader,
        unsynced_tail: None,
        _registration: registration,
    })
}
