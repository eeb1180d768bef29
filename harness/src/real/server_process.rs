use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::error::io_error;
use super::node_log::{Beginning, NodeLog};
use super::port::ReservedPort;
use super::unsynced::Unsynced;
use super::{Reaper, Registration, ShiftedWall, WorldError, guard, signals, wall};

/// A server that loads no data is ready in milliseconds; a busy machine may take its time.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// Another program may take the port in spite of the reservation, if it insists.
const PORT_ATTEMPTS: usize = 5;

/// How Redis words that a port is taken.
const PORT_TAKEN: &str = "Address already in use";

/// What is needed to start one server, again and again.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// `node-0`, `node-0-replica-1`.
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The configuration of a Sentinel, which rewrites it; other servers need none.
    pub sentinel: Option<String>,
    /// Directory of the server's data.
    pub data: PathBuf,
    pub log: PathBuf,
    /// A kill is to take what the last second has appended, too.
    pub loses_tail: bool,
    /// Where its wall clock is to be shifted.
    pub wall: Option<Arc<ShiftedWall>>,
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
    running: Option<Running>,
    log: NodeLog,
}

#[derive(Debug)]
struct Running {
    child: Child,
    leader: u32,
    /// While it is up, where a kill is to be a power loss.
    unsynced: Option<Unsynced>,
    _registration: Registration,
}

impl ServerProcess {
    /// Starts it on a port of its own, and waits until it accepts connections.
    pub(super) async fn start(recipe: Recipe, reaper: Reaper) -> Result<Self, WorldError> {
        std::fs::create_dir_all(&recipe.data)
            .map_err(io_error(format!("make {}", recipe.data.display())))?;
        if let Some(text) = &recipe.sentinel {
            let path = recipe.sentinel_file();
            std::fs::write(&path, text).map_err(io_error(format!("write {}", path.display())))?;
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
                Err(WorldError::DiedAtStart { log, .. })
                    if attempt < PORT_ATTEMPTS && log.contains(PORT_TAKEN) =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.port.address()
    }

    pub(super) async fn pause(&self) -> Result<(), WorldError> {
        let state = self.state.lock().await;
        let leader = self.leader(&state)?;
        let doing = format!("freeze {}", self.recipe.name);
        signals::freeze(leader).await.map_err(io_error(doing))
    }

    pub(super) async fn resume(&self) -> Result<(), WorldError> {
        let state = self.state.lock().await;
        let leader = self.leader(&state)?;
        signals::thaw(leader).map_err(io_error(format!("thaw {}", self.recipe.name)))
    }

    pub(super) async fn crash(&self) -> Result<(), WorldError> {
        let mut state = self.state.lock().await;
        self.leader(&state)?;
        self.end(&mut state).await
    }

    pub(super) async fn restart(&self) -> Result<SocketAddr, WorldError> {
        let mut state = self.state.lock().await;
        if state.running.is_some() {
            return Err(WorldError::Up(self.recipe.name.clone()));
        }
        *state = run(&self.recipe, self.address(), &self.reaper).await?;
        Ok(self.address())
    }

    pub(super) async fn set_clock_off(&self, off_ns: i64) -> Result<(), WorldError> {
        let Recipe { name, wall, .. } = &self.recipe;
        wall::set_off(name, self.address(), wall.as_deref(), off_ns).await
    }

    /// Kills it, if it is up.
    pub(super) async fn stop(&self) -> Result<(), WorldError> {
        let mut state = self.state.lock().await;
        self.end(&mut state).await
    }

    pub(super) async fn log_tail(&self, lines: usize) -> String {
        self.state.lock().await.log.tail(lines)
    }

    fn leader(&self, state: &State) -> Result<u32, WorldError> {
        let running = state.running.as_ref();
        running
            .map(|running| running.leader)
            .ok_or_else(|| WorldError::Down(self.recipe.name.clone()))
    }

    async fn end(&self, state: &mut State) -> Result<(), WorldError> {
        let Some(mut running) = state.running.take() else {
            return Ok(());
        };
        let doing = format!("kill {}", self.recipe.name);
        let lost_at_ns = running.unsynced.as_ref().map(Unsynced::now_ns);
        running.kill_group().map_err(io_error(doing.clone()))?;
        running.child.wait().await.map_err(io_error(doing))?;
        if let (Some(unsynced), Some(lost_at_ns)) = (&running.unsynced, lost_at_ns) {
            let doing = format!("cut the append-only file of {}", self.recipe.name);
            unsynced.cut(lost_at_ns).map_err(io_error(doing))?;
        }
        Ok(())
    }
}

impl Running {
    fn kill_group(&self) -> std::io::Result<()> {
        // A child that was waited for has given its id back, perhaps to somebody else.
        match self.child.id() {
            Some(leader) => signals::kill_group(leader),
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill_group();
    }
}

/// Starts the server once, and waits until it says that it accepts connections.
async fn run(recipe: &Recipe, address: SocketAddr, reaper: &Reaper) -> Result<State, WorldError> {
    let doing = format!("write {}", recipe.log.display());
    let (log, output) = NodeLog::open(&recipe.log).map_err(io_error(doing))?;
    let mut running = spawn(recipe, address, reaper, output)?;
    match tokio::time::timeout(START_PATIENCE, log.beginning()).await {
        Ok(Beginning::Ready) => {
            running.unsynced = recipe.loses_tail.then(|| Unsynced::watch(&recipe.data));
            let running = Some(running);
            Ok(State { running, log })
        }
        Ok(Beginning::Ended) => {
            // It may have closed its output only; it is of no use either way.
            let _ = running.kill_group();
            let status = running.child.wait().await;
            Err(WorldError::DiedAtStart {
                node: recipe.name.clone(),
                program: recipe.program.clone(),
                status: status.map_or_else(|e| e.to_string(), |status| status.to_string()),
                log: log.last_words(),
            })
        }
        Err(_) => Err(WorldError::NotReady {
            node: recipe.name.clone(),
            after: START_PATIENCE,
            log: log.last_words(),
        }),
    }
}

fn spawn(
    recipe: &Recipe,
    address: SocketAddr,
    reaper: &Reaper,
    output: std::io::PipeWriter,
) -> Result<Running, WorldError> {
    let cannot_run = |source| WorldError::CannotRun {
        program: recipe.program.clone(),
        source,
    };
    let mut command = Command::new(&recipe.program);
    if recipe.sentinel.is_some() {
        // The file must come first.
        command.arg(recipe.sentinel_file()).arg("--sentinel");
    }
    command
        .args(["--port", &address.port().to_string()])
        .args(["--bind", &address.ip().to_string()])
        .args(["--protected-mode", "yes"])
        .arg("--dir")
        .arg(&recipe.data)
        .args(&recipe.arguments)
        .current_dir(&recipe.data)
        .stdin(Stdio::null())
        .stderr(output.try_clone().map_err(cannot_run)?)
        .stdout(output)
        .kill_on_drop(true);
    guard::prepare(&mut command);
    if let Some(wall) = &recipe.wall {
        command.envs(wall.environment());
    }
    let child = command.spawn().map_err(cannot_run)?;
    // The command holds our copies of the pipe's end; the log would never end.
    drop(command);
    let leader = child.id().unwrap_or_default();
    let registration = reaper.group(leader)?;
    Ok(Running {
        child,
        leader,
        unsynced: None,
        _registration: registration,
    })
}
