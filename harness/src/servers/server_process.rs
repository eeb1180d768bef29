//! A server as a process of this machine: how it is started on a reserved port, frozen, killed and restarted with its
//! data.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::net::TcpSocket;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::{io_error, not_ready};
use super::node_log::NodeLog;
use super::program_fault::ProgramFault;
use super::server::{Host, Server, ServerFuture};
use super::server_order::ServerOrder;
use super::{
    BackendError, Binary, Password, Reaper, Registration, ServerAddress, parent_death_signal,
    signals,
};

/// How long a server without data may take to start. It normally takes milliseconds, but much longer on a busy machine.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// How long to wait for a server that may be exiting, because its connections broke.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// How long a killed server may take to exit. Only the kernel or a tracing process can hold it longer.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of attempts with different ports. A program that binds a specific port may take a port in spite of
/// its reservation.
const PORT_ATTEMPTS: usize = 5;

/// Redis's message for a port that is in use.
const PORT_TAKEN: &str = "Address already in use";

/// Starts servers as processes of this machine.
#[derive(Debug, Clone)]
pub(super) struct ProcessHost {
    program: PathBuf,
    reaper: Reaper,
}

impl ProcessHost {
    /// Creates a host for servers of this program.
    pub(super) fn new(binary: &Binary, reaper: &Reaper) -> Self {
        ProcessHost {
            program: binary.path().to_owned(),
            reaper: reaper.clone(),
        }
    }
}

impl Host for ProcessHost {
    fn start(&self, order: ServerOrder) -> ServerFuture<'_, Box<dyn Server>> {
        Box::pin(async move {
            let started = ServerProcess::start(self.clone(), order).await?;
            Ok(Box::new(started) as Box<dyn Server>)
        })
    }
}

/// A server as a process of this machine: its reserved port, and its process while it is up.
#[derive(Debug)]
struct ServerProcess {
    host: ProcessHost,
    order: ServerOrder,
    port: ReservedPort,
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
    _registration: Registration,
}

impl ServerProcess {
    /// Starts the server on its own port, and waits until it accepts connections.
    async fn start(host: ProcessHost, order: ServerOrder) -> Result<Self, BackendError> {
        std::fs::create_dir_all(&order.data)
            .map_err(io_error(format!("create {}", order.data.display())))?;
        if let Some(text) = &order.sentinel {
            let path = sentinel_file(&order);
            write_private(&path, text).map_err(io_error(format!("write {}", path.display())))?;
        }
        let mut attempt = 1;
        loop {
            let port = ReservedPort::any().map_err(io_error("reserve a loopback port"))?;
            match run(&host, &order, port.address()).await {
                Ok(state) => {
                    let state = Mutex::new(state);
                    return Ok(ServerProcess {
                        host,
                        order,
                        port,
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

    fn leader(&self, state: &State) -> Result<u32, BackendError> {
        let leader = state.running.as_ref().map(|running| running.leader);
        leader.ok_or_else(|| BackendError::Down(self.order.name.clone()))
    }
}

impl Server for ServerProcess {
    fn address(&self) -> ServerAddress {
        ServerAddress::new(self.port.address(), self.order.password)
    }

    /// Like the trait's method, but also returns `None` while an operation on the server is in progress.
    fn process_id(&self) -> Option<u32> {
        let state = self.state.try_lock().ok()?;
        state.running.as_ref().map(|running| running.leader)
    }

    fn announced(&self) -> ServerFuture<'_, SocketAddr> {
        Box::pin(async move { Ok(self.port.address()) })
    }

    fn pause(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let state = self.state.lock().await;
            let leader = self.leader(&state)?;
            let doing = format!("freeze {}", self.order.name);
            signals::freeze(leader).await.map_err(io_error(doing))
        })
    }

    fn resume(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let state = self.state.lock().await;
            let leader = self.leader(&state)?;
            signals::thaw(leader).map_err(io_error(format!("thaw {}", self.order.name)))
        })
    }

    fn check_is_up(&self) -> ServerFuture<'_> {
        Box::pin(async move { self.leader(&*self.state.lock().await).map(|_| ()) })
    }

    fn kill(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            let Some(mut running) = state.running.take() else {
                return Ok(());
            };
            let doing = format!("kill {}", self.order.name);
            running.kill_group().map_err(io_error(doing.clone()))?;
            // The wait is limited, because the kernel or a tracing process can hold a killed process.
            let ended = timeout(KILL_PATIENCE, running.child.wait()).await;
            let ended = ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            ended.map(|_| ()).map_err(io_error(doing))
        })
    }

    fn restart(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            if state.running.is_some() {
                return Err(BackendError::Up(self.order.name.clone()));
            }
            *state = run(&self.host, &self.order, self.port.address()).await?;
            Ok(())
        })
    }

    fn end(&self) -> ServerFuture<'_> {
        self.kill()
    }

    fn log_tail(&self, lines: usize) -> LocalBoxFuture<'_, String> {
        Box::pin(async move { self.state.lock().await.log.tail(lines) })
    }

    /// Describes whether the process has exited, and the end of the log. Waits for a moment in case the process is
    /// exiting.
    fn condition(&self) -> LocalBoxFuture<'_, String> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            let process = match &mut state.running {
                None => "it is down".to_owned(),
                Some(running) => match timeout(END_PATIENCE, running.child.wait()).await {
                    Ok(Ok(status)) => format!("its process has exited ({status})"),
                    Ok(Err(error)) => format!("its process cannot be inspected: {error}"),
                    Err(_) => "its process is running".to_owned(),
                },
            };
            format!("{process}; {}", state.log.describe_tail())
        })
    }
}

impl RunningServer {
    fn kill_group(&self) -> io::Result<()> {
        // After a child is reaped, its PID may belong to another process.
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

/// Starts the process once, and waits until the server reports that it accepts connections.
async fn run(
    host: &ProcessHost,
    order: &ServerOrder,
    address: SocketAddr,
) -> Result<State, BackendError> {
    let doing = format!("write {}", order.log.display());
    let (log, output) = NodeLog::open(&order.log).map_err(io_error(doing))?;
    let mut running = spawn(host, order, address, output)?;
    match timeout(START_PATIENCE, log.is_ready()).await {
        Ok(true) => {
            let running = Some(running);
            Ok(State { running, log })
        }
        Ok(false) => {
            // The server may only have closed its output, but without it the server cannot be used.
            let _ = running.kill_group();
            let status = running.child.wait().await;
            Err(BackendError::DiedAtStart {
                node: order.name.clone(),
                program: host.program.clone(),
                status: status.map_or_else(|e| e.to_string(), |status| status.to_string()),
                log: log.describe_tail(),
            })
        }
        Err(_) => Err(not_ready(&order.name, START_PATIENCE, &log.describe_tail())),
    }
}

fn sentinel_file(order: &ServerOrder) -> PathBuf {
    order.data.join("sentinel.conf")
}

/// Writes a file that no other user can read, in a directory that no other user can enter.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// Returns a standard input with the secret settings. They can be neither on the command line, which every user can
/// read, nor in a configuration file, which the `CONFIG REWRITE` of Sentinels would rewrite.
fn secrets(password: Password) -> io::Result<Stdio> {
    let (reader, mut writer) = io::pipe()?;
    let password = password.text();
    // The settings fit into the pipe, so the write does not block.
    writer.write_all(format!("requirepass {password}\nmasterauth {password}\n").as_bytes())?;
    Ok(reader.into())
}

fn spawn(
    host: &ProcessHost,
    order: &ServerOrder,
    address: SocketAddr,
    output: io::PipeWriter,
) -> Result<RunningServer, BackendError> {
    let cannot_run = |source| BackendError::CannotRun {
        program: host.program.clone(),
        why: ProgramFault::find(&host.program),
        source,
    };
    let mut command = Command::new(&host.program);
    if order.sentinel.is_some() {
        // The configuration file must be the first argument.
        command.arg(sentinel_file(order)).arg("--sentinel");
        command.stdin(Stdio::null());
    } else {
        let secrets = secrets(order.password).map_err(cannot_run)?;
        command.arg("-").stdin(secrets);
    }
    command
        .args(["--port", &address.port().to_string()])
        .args(["--bind", &address.ip().to_string()])
        .args(["--protected-mode", "yes"])
        .arg("--dir")
        .arg(&order.data)
        .args(&order.arguments)
        .current_dir(&order.data)
        .stderr(output.try_clone().map_err(cannot_run)?)
        .stdout(output)
        .kill_on_drop(true);
    parent_death_signal::prepare(&mut command);
    if let Some(wall_clock) = &order.wall_clock {
        command.envs(wall_clock.environment());
    }
    let child = command.spawn().map_err(cannot_run)?;
    // The command holds copies of the pipe's writing end. While they exist, the log does not end.
    drop(command);
    let leader = child.id().unwrap_or_default();
    let registration = host.reaper.group(leader)?;
    Ok(RunningServer {
        child,
        leader,
        _registration: registration,
    })
}

/// A loopback port that stays reserved for a node while this value lives, even while the node is down.
///
/// The socket is bound but never listens, so connections are refused while there is no server. The kernel does not give
/// the port to a program that requests any free port. The server itself can bind it, because both sockets allow the
/// address to be reused and only the server's socket listens.
#[derive(Debug)]
pub(super) struct ReservedPort {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl ReservedPort {
    /// Reserves any free port.
    pub(super) fn any() -> io::Result<ReservedPort> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(ReservedPort {
            address: socket.local_addr()?,
            _socket: socket,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}
