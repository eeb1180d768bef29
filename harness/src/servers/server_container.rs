//! A server in a container: how it is started, frozen, killed and restarted with its data.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use bollard::body_full;
use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HostConfig, Mount, MountType, PortBinding,
};
use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, KillContainerOptionsBuilder,
    LogsOptionsBuilder, StartContainerOptions, UploadToContainerOptionsBuilder,
    WaitContainerOptions,
};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use tokio::time::timeout;

use super::container_host::ContainerHost;
use super::engine::{self, confine, labels, refused};
use super::error::{io_error, not_ready};
use super::node_log::{describe_tail, is_ready_line};
use super::server::{Host, Server, ServerFuture};
use super::server_order::ServerOrder;
use super::{BackendError, Password, ServerAddress, container_removal, server_queries};

/// Redis's port inside a container.
const PORT: u16 = 6379;

/// A Sentinel's configuration in [`DATA`], which the Sentinel rewrites.
const SENTINEL_FILE: &str = "sentinel.conf";

/// Capabilities that the entry point of official images needs to give the data directory to its own user, and to become
/// that user. An image without such a user needs them to read directories of this process.
const CAPABILITIES: [&str; 5] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];

/// How long a container may take to start on a busy engine.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Data directory of a server in the images.
const DATA: &str = "/data";

impl Host for ContainerHost {
    fn start(&self, order: ServerOrder) -> ServerFuture<'_, Box<dyn Server>> {
        Box::pin(async move {
            let started = ServerContainer::start(self, order).await?;
            Ok(Box::new(started) as Box<dyn Server>)
        })
    }

    fn abandon(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async move {
            container_removal::remove_run(self.run()).await;
        })
    }

    fn end(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        // The engine removes everything except the network.
        Box::pin(container_removal::end(self.watch))
    }

    fn run_id(&self) -> Option<&str> {
        Some(self.run())
    }
}

/// A server in its own container, published on loopback only.
pub(super) struct ServerContainer {
    name: String,
    log: PathBuf,
    engine: Docker,
    /// The engine's ID of the container. If the container is not removed, the reaper removes it.
    id: String,
    address: Mutex<SocketAddr>,
    password: Password,
    /// The user with which the server replicates from a master of its node, or `None` for a Sentinel.
    follower: Option<String>,
}

impl ServerContainer {
    /// Starts the container, and waits until the server accepts connections.
    pub(super) async fn start(
        host: &ContainerHost,
        order: ServerOrder,
    ) -> Result<Self, BackendError> {
        // Only the replicas of the same node may get a master's data.
        let follower = match order.sentinel {
            Some(_) => None,
            None => Some(format!("{}-{}", host.run(), order.family)),
        };
        let body = body(host, &order, follower.as_deref())?;
        let name = order.name;
        let options = None::<CreateContainerOptions>;
        let created = host.engine.create_container(options, body).await;
        let created = created.map_err(refused(&name, "create the container"))?;
        let server = ServerContainer {
            id: created.id,
            name,
            log: order.log,
            engine: host.engine.clone(),
            // The real address is set once the server is ready, because a server that dies at its start has no port.
            address: Mutex::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            password: order.password,
            follower,
        };
        if let Some(text) = &order.sentinel {
            server.write(SENTINEL_FILE, text).await?;
        }
        server.begin("start the container").await?;
        match timeout(START_PATIENCE, server.is_ready()).await {
            Ok(true) => {}
            Ok(false) => return Err(server.died_at_start(host).await),
            Err(_) => {
                let log = describe_tail(&server.log("10").await);
                return Err(not_ready(&server.name, START_PATIENCE, &log));
            }
        }
        server.update_address().await?;
        server.set_master_credentials().await?;
        Ok(server)
    }

    async fn begin(&self, doing: &'static str) -> Result<(), BackendError> {
        let options = None::<StartContainerOptions>;
        let started = self.engine.start_container(&self.id, options).await;
        started.map_err(refused(&self.name, doing))
    }

    /// Writes a file into [`DATA`].
    async fn write(&self, file: &str, text: &str) -> Result<(), BackendError> {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        // The file must be readable and writable for the user that the server becomes.
        header.set_mode(0o666);
        let mut archive = tar::Builder::new(Vec::new());
        let packed = archive
            .append_data(&mut header, file, text.as_bytes())
            .and_then(|()| archive.into_inner())
            .map_err(io_error(format!("pack {file}")))?;
        let options = UploadToContainerOptionsBuilder::new().path(DATA).build();
        let (id, body) = (&self.id, body_full(packed.into()));
        let written = self
            .engine
            .upload_to_container(id, Some(options), body)
            .await;
        written.map_err(refused(&self.name, "write its configuration"))
    }

    /// Waits until the server's log reports that it accepts connections. Returns `false` if the server exited before
    /// that.
    async fn is_ready(&self) -> bool {
        let options = LogsOptionsBuilder::new().stdout(true).follow(true).build();
        let mut frames = self.engine.logs(&self.id, Some(options));
        let mut text = String::new();
        while let Some(Ok(frame)) = frames.next().await {
            text.push_str(&String::from_utf8_lossy(&frame.into_bytes()));
            if text.lines().any(is_ready_line) {
                return true;
            }
            // The rest of a line arrives with the next frame.
            text.drain(..text.rfind('\n').map_or(0, |end| end + 1));
        }
        false
    }

    async fn died_at_start(&self, host: &ContainerHost) -> BackendError {
        let found = self.inspect("read the exit status").await;
        let state = found.ok().and_then(|found| found.state);
        let ended = state.filter(|state| state.running != Some(true));
        let status = match ended.and_then(|state| state.exit_code) {
            Some(code) => format!("exit status: {code}"),
            None => "exit status unknown".to_owned(),
        };
        let program = format!("{} of {}", host.program, host.image.reference());
        BackendError::DiedAtStart {
            node: self.name.clone(),
            program: program.into(),
            status,
            log: describe_tail(&self.log("10").await),
        }
    }

    async fn inspect(&self, doing: &'static str) -> Result<ContainerInspectResponse, BackendError> {
        let options = None::<InspectContainerOptions>;
        let found = self.engine.inspect_container(&self.id, options).await;
        found.map_err(refused(&self.name, doing))
    }

    /// Queries the engine for the published port, which changes with every start.
    async fn update_address(&self) -> Result<(), BackendError> {
        let found = self.inspect("read the published port").await?;
        let ports = found.network_settings.and_then(|settings| settings.ports);
        let bindings = ports.into_iter().flatten().filter_map(|(_, all)| all);
        let port: Option<u16> = bindings
            .flatten()
            .find_map(|binding| binding.host_port?.parse().ok());
        let port = port.ok_or_else(|| BackendError::NoNetwork(self.name.clone()))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        Ok(())
    }

    /// Sets the user and password that the server sends to its master. They must be set after each start, because they
    /// cannot be on the command line, which every user can read.
    async fn set_master_credentials(&self) -> Result<(), BackendError> {
        match &self.follower {
            Some(user) => server_queries::follow_as(self.address(), user, self.password).await,
            None => Ok(()),
        }
    }

    /// Returns the last lines of the server's output: `lines` is a number or `all`. Lines that cannot be read are
    /// omitted.
    async fn log(&self, lines: &str) -> String {
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .tail(lines)
            .build();
        let mut frames = self.engine.logs(&self.id, Some(options));
        let mut text = String::new();
        while let Some(Ok(frame)) = frames.next().await {
            text.push_str(&String::from_utf8_lossy(&frame.into_bytes()));
        }
        text
    }

    async fn is_running(&self) -> Result<bool, BackendError> {
        let found = self.inspect("read the container's state").await?;
        let running = found.state.and_then(|state| state.running);
        Ok(running.unwrap_or_default())
    }
}

impl Server for ServerContainer {
    /// Returns the address at which the port is published on the host.
    fn address(&self) -> ServerAddress {
        let socket = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        ServerAddress::new(socket, self.password)
    }

    /// Returns the address for other containers of the engine.
    fn announced(&self) -> ServerFuture<'_, SocketAddr> {
        Box::pin(async move {
            let found = self.inspect("inspect the container").await?;
            let networks = found
                .network_settings
                .and_then(|settings| settings.networks);
            let mut endpoints = networks.into_iter().flatten();
            endpoints
                .find_map(|(_, endpoint)| endpoint.ip_address?.parse().ok())
                .map(|ip: IpAddr| SocketAddr::new(ip, PORT))
                .ok_or_else(|| BackendError::NoNetwork(self.name.clone()))
        })
    }

    fn moves(&self) -> bool {
        true
    }

    fn pause(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            self.check_is_up().await?;
            let paused = engine::pause_container(&self.engine, &self.id).await;
            paused.map_err(refused(&self.name, "pause the container"))
        })
    }

    fn resume(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            self.check_is_up().await?;
            let resumed = engine::unpause_container(&self.engine, &self.id).await;
            resumed.map_err(refused(&self.name, "resume the container"))
        })
    }

    fn check_is_up(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            if !self.is_running().await? {
                return Err(BackendError::Down(self.name.clone()));
            }
            Ok(())
        })
    }

    /// Kills the container, and waits until the engine reports its end.
    fn kill(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let id = &self.id;
            let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
            let killed = self.engine.kill_container(id, Some(options)).await;
            killed.map_err(refused(&self.name, "kill the container"))?;
            let mut waiting = self.engine.wait_container(id, None::<WaitContainerOptions>);
            match waiting.next().await {
                // A killed container exits with a status other than zero.
                Some(Ok(_)) | Some(Err(Error::DockerContainerWaitError { .. })) | None => Ok(()),
                Some(Err(error)) => Err(refused(&self.name, "wait for the container's end")(error)),
            }
        })
    }

    fn restart(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            if self.is_running().await? {
                return Err(BackendError::Up(self.name.clone()));
            }
            self.begin("restart the container").await?;
            self.update_address().await?;
            server_queries::await_answer(&self.name, self.address()).await?;
            self.set_master_credentials().await
        })
    }

    /// Copies the server's whole log into the run's directory, and removes the container with its volumes.
    fn end(&self) -> ServerFuture<'_> {
        Box::pin(async move {
            let text = self.log("all").await;
            let removed = engine::remove_container(&self.engine, &self.id).await;
            removed.map_err(refused(&self.name, "remove the container"))?;
            let doing = format!("write {}", self.log.display());
            std::fs::write(&self.log, text).map_err(io_error(doing))
        })
    }

    fn log_tail(&self, lines: usize) -> LocalBoxFuture<'_, String> {
        Box::pin(async move { self.log(&lines.to_string()).await.trim_end().to_owned() })
    }
}

/// Returns the command of the container.
fn command(program: &str, order: &ServerOrder, follower: Option<&str>) -> Vec<String> {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let mut command = vec![program.to_owned()];
    let Some(follower) = follower else {
        command.extend(words(&format!(
            "{DATA}/{SENTINEL_FILE} --sentinel --port {PORT}"
        )));
        return command;
    };
    command.extend(order.arguments.iter().cloned());
    // Official images disable protected mode. It can be enabled, because it only affects servers without a password.
    command.extend(words("--protected-mode yes"));
    // All clients need the password. The command line contains only its digest.
    //
    // A container that starts later may get the address of a killed one, and replicas of the dead server would then
    // copy the wrong data. Replication therefore needs a user that only the servers of one node have.
    let digest = order.password.digest();
    command.extend(words(&format!(
        "--user default on #{digest} ~* &* +@all --user {follower} on #{digest} +psync +replconf +ping"
    )));
    command
}

/// Returns the engine's description of the container.
///
/// # Errors
/// Returns an error if its data directory cannot be created.
fn body(
    host: &ContainerHost,
    order: &ServerOrder,
    follower: Option<&str>,
) -> Result<ContainerCreateBody, BackendError> {
    let mut config = HostConfig {
        network_mode: Some(host.network.clone()),
        port_bindings: Some(on_loopback()),
        ..HostConfig::default()
    };
    confine(&mut config, &CAPABILITIES);
    let mut body = ContainerCreateBody {
        image: Some(host.image.reference().to_owned()),
        cmd: Some(command(&host.program, order, follower)),
        labels: Some(labels(host.run(), &host.owner)),
        exposed_ports: Some(vec![format!("{PORT}/tcp")]),
        ..ContainerCreateBody::default()
    };
    let mut mounts = Vec::new();
    // A power loss cuts the append-only file in a directory of this machine. The engine must run on this machine and
    // have access to the run's directory; otherwise it refuses to start the container.
    if order.loses_tail {
        let doing = format!("create {}", order.data.display());
        std::fs::create_dir_all(&order.data).map_err(io_error(doing))?;
        mounts.push(mount(&order.data, DATA, false));
        body.working_dir = Some(DATA.to_owned());
        body.user.clone_from(&host.user);
    }
    // If the server's wall clock can be shifted, mount the library and its file.
    if let Some(wall_clock) = order.wall_clock.as_deref() {
        let (variables, files) = wall_clock.in_container();
        let variables = variables.map(|(name, value)| format!("{name}={value}"));
        body.env = Some(variables.into());
        mounts.extend(files.map(|(ours, theirs)| mount(ours, theirs, true)));
    }
    config.mounts = Some(mounts);
    body.host_config = Some(config);
    Ok(body)
}

fn mount(ours: &Path, theirs: &str, read_only: bool) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(ours.to_string_lossy().into_owned()),
        target: Some(theirs.to_owned()),
        read_only: Some(read_only),
        ..Mount::default()
    }
}

/// Publishes the port only on loopback, so that the server cannot be reached from other machines.
fn on_loopback() -> HashMap<String, Option<Vec<PortBinding>>> {
    let binding = PortBinding {
        host_ip: Some(Ipv4Addr::LOCALHOST.to_string()),
        host_port: None,
    };
    HashMap::from([(format!("{PORT}/tcp"), Some(vec![binding]))])
}
