//! A server in a container, published on loopback only.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{HostConfig, PortBinding};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptionsBuilder, LogsOptionsBuilder, WaitContainerOptions,
};
use testcontainers::core::{AccessMode, IntoContainerPort, Mount};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt};
use tokio::io::AsyncBufReadExt;
use tokio::time::timeout;

use super::container_host::ContainerHost;
use super::engine::{self, OWNER_LABEL, RUN_LABEL, confine, refused};
use super::error::{io_error, not_ready};
use super::node_log::{last_words, says_ready};
use super::server::{Answer, Host, Server};
use super::server_order::ServerOrder;
use super::{
    BackendError, Password, ServerAddress, ShiftedWallClock, container_removal, server_queries,
};

/// Redis's port inside a container.
const PORT: u16 = 6379;

/// A Sentinel's configuration, which it rewrites. The directory is the one that the images give
/// their server to write to.
const SENTINEL_FILE: &str = "/data/sentinel.conf";

/// What the entry point of official images needs: it gives the data directory to a user of its own, and
/// becomes that user. A server without such a user reads directories that are ours.
const CAPABILITIES: [&str; 5] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];

/// How long a container may take to start, on an engine that is busy.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Where the images let their server keep its data.
const DATA: &str = "/data";

impl Host for ContainerHost {
    fn start(&self, order: ServerOrder) -> Answer<'_, Box<dyn Server>> {
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
        // The network is left.
        Box::pin(container_removal::end(self.watch))
    }

    fn run_id(&self) -> Option<&str> {
        Some(self.run())
    }
}

/// One server in a container of its own.
pub(super) struct ServerContainer {
    name: String,
    log: PathBuf,
    engine: Docker,
    /// Never dropped: that would remove the container, and nothing else could happen meanwhile, one container
    /// after the other. What was not removed is left to the reaper.
    container: ManuallyDrop<ContainerAsync<GenericImage>>,
    address: Mutex<SocketAddr>,
    password: Password,
    /// The user as which it follows a master of its node; `None`: a Sentinel.
    follower: Option<String>,
}

impl ServerContainer {
    /// Starts it, and waits until it accepts connections.
    pub(super) async fn start(
        host: &ContainerHost,
        order: ServerOrder,
    ) -> Result<Self, BackendError> {
        let (image, tag) = host.image.name_and_tag();
        let image = GenericImage::new(image, tag).with_exposed_port(PORT.tcp());
        // Only the replicas of its own node get a master's data.
        let follower = match order.sentinel {
            Some(_) => None,
            None => Some(format!("{}-{}", host.run(), order.family)),
        };
        let command = command(&host.program, &order, follower.as_deref());
        let request = match &order.sentinel {
            Some(text) => image
                .with_copy_to(SENTINEL_FILE, text.clone().into_bytes())
                .with_cmd(command),
            None => image.with_cmd(command),
        };
        let request = with_data(request, host, &order)?;
        let request = with_wall_clock(request, order.wall_clock.as_deref());
        let network = host.network.clone();
        let request = request
            .with_label(RUN_LABEL, host.run())
            .with_label(OWNER_LABEL, &host.owner)
            .with_host_config_modifier(move |config| {
                config.network_mode = Some(network.clone());
                publish_on_loopback(config);
                confine(config, &CAPABILITIES);
            });
        // A start that is cancelled is not dropped either, for the same reason.
        let mut start = ManuallyDrop::new(request.start());
        let started = start.as_mut().await;
        drop(ManuallyDrop::into_inner(start));
        let name = order.name;
        let server = ServerContainer {
            container: ManuallyDrop::new(started.map_err(refused(&name, "start the container"))?),
            name,
            log: order.log,
            engine: host.engine.clone(),
            // Set when it is ready: a server that dies at start has no port.
            address: Mutex::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            password: order.password,
            follower,
        };
        match timeout(START_PATIENCE, server.is_ready()).await {
            Ok(true) => {}
            Ok(false) => return Err(server.died_at_start(host).await),
            Err(_) => {
                let log = last_words(&server.log("10").await);
                return Err(not_ready(&server.name, START_PATIENCE, &log));
            }
        }
        server.ask_for_the_address().await?;
        server.give_password_to_masters().await?;
        Ok(server)
    }

    /// Waits until the server's log says that it accepts connections; false if it ended first.
    async fn is_ready(&self) -> bool {
        let mut lines = self.container.stdout(true).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if says_ready(&line) {
                return true;
            }
        }
        false
    }

    async fn died_at_start(&self, host: &ContainerHost) -> BackendError {
        let status = match self.container.exit_code().await {
            Ok(Some(code)) => format!("exit status: {code}"),
            _ => "exit status unknown".to_owned(),
        };
        let program = format!("{} of {}", host.program, host.image.reference());
        BackendError::DiedAtStart {
            node: self.name.clone(),
            program: program.into(),
            status,
            log: last_words(&self.log("10").await),
        }
    }

    /// Asks the engine where the port is published. It changes with every start.
    async fn ask_for_the_address(&self) -> Result<(), BackendError> {
        let port = self.container.get_host_port_ipv4(PORT.tcp()).await;
        let port = port.map_err(refused(&self.name, "ask for the published port"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        Ok(())
    }

    /// Tells the server what to say to a master that it follows. It is not on its command line, which
    /// everybody can read, so it must be told after each start.
    async fn give_password_to_masters(&self) -> Result<(), BackendError> {
        match &self.follower {
            Some(user) => server_queries::follow_as(self.address(), user, self.password).await,
            None => Ok(()),
        }
    }

    /// The last lines that it printed: `tail` is a number or `all`. Lines that cannot be read are
    /// left out.
    async fn log(&self, lines: &str) -> String {
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .tail(lines)
            .build();
        let mut frames = self.engine.logs(self.container.id(), Some(options));
        let mut text = String::new();
        while let Some(Ok(frame)) = frames.next().await {
            text.push_str(&String::from_utf8_lossy(&frame.into_bytes()));
        }
        text
    }

    async fn is_running(&self) -> Result<bool, BackendError> {
        let asked = self.container.is_running().await;
        asked.map_err(refused(&self.name, "ask for the container's state"))
    }
}

impl Server for ServerContainer {
    /// Where it is published on the host.
    fn address(&self) -> ServerAddress {
        let socket = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        ServerAddress::new(socket, self.password)
    }

    /// Its address for other containers of the engine.
    fn announced(&self) -> Answer<'_, SocketAddr> {
        Box::pin(async move {
            let id = self.container.id();
            let found = self
                .engine
                .inspect_container(id, None::<InspectContainerOptions>);
            let found = found
                .await
                .map_err(refused(&self.name, "inspect the container"))?;
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

    fn pause(&self) -> Answer<'_> {
        Box::pin(async move {
            self.must_run().await?;
            let paused = engine::pause_container(&self.engine, self.container.id()).await;
            paused.map_err(refused(&self.name, "pause the container"))
        })
    }

    fn resume(&self) -> Answer<'_> {
        Box::pin(async move {
            self.must_run().await?;
            let resumed = self.container.unpause().await;
            resumed.map_err(refused(&self.name, "resume the container"))
        })
    }

    fn must_run(&self) -> Answer<'_> {
        Box::pin(async move {
            match self.is_running().await? {
                true => Ok(()),
                false => Err(BackendError::Down(self.name.clone())),
            }
        })
    }

    /// Kills it, and waits until the engine has noticed its death.
    fn kill(&self) -> Answer<'_> {
        Box::pin(async move {
            let id = self.container.id();
            let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
            let killed = self.engine.kill_container(id, Some(options)).await;
            killed.map_err(refused(&self.name, "kill the container"))?;
            let mut waiting = self.engine.wait_container(id, None::<WaitContainerOptions>);
            match waiting.next().await {
                // A killed container ends with a status other than zero.
                Some(Ok(_)) | Some(Err(Error::DockerContainerWaitError { .. })) | None => Ok(()),
                Some(Err(error)) => Err(refused(&self.name, "wait for the container's end")(error)),
            }
        })
    }

    fn restart(&self) -> Answer<'_> {
        Box::pin(async move {
            if self.is_running().await? {
                return Err(BackendError::Up(self.name.clone()));
            }
            let started = self.container.start().await;
            started.map_err(refused(&self.name, "start the container again"))?;
            self.ask_for_the_address().await?;
            server_queries::await_answer(&self.name, self.address()).await?;
            self.give_password_to_masters().await
        })
    }

    /// Copies its whole log into the run's directory, and removes it with its volumes.
    fn end(&self) -> Answer<'_> {
        Box::pin(async move {
            let text = self.log("all").await;
            let removed = engine::remove_container(&self.engine, self.container.id()).await;
            removed.map_err(refused(&self.name, "remove the container"))?;
            let doing = format!("write {}", self.log.display());
            std::fs::write(&self.log, text).map_err(io_error(doing))
        })
    }

    fn log_tail(&self, lines: usize) -> LocalBoxFuture<'_, String> {
        Box::pin(async move { self.log(&lines.to_string()).await.trim_end().to_owned() })
    }
}

/// The command of the container.
fn command(program: &str, order: &ServerOrder, follower: Option<&str>) -> Vec<String> {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let mut command = vec![program.to_owned()];
    let Some(follower) = follower else {
        command.extend(words(&format!("{SENTINEL_FILE} --sentinel --port {PORT}")));
        return command;
    };
    command.extend(order.arguments.iter().cloned());
    // Official images switch it off. It refuses only servers that want no password.
    command.extend(words("--protected-mode yes"));
    // Everybody wants the password, of which the command line holds the digest only.
    //
    // The next container that starts gets the address of a killed one, and replicas of the dead server
    // would copy the wrong data. So replication needs a user that only the servers of one node have.
    let digest = order.password.digest();
    command.extend(words(&format!(
        "--user default on #{digest} ~* &* +@all --user {follower} on #{digest} +psync +replconf +ping"
    )));
    command
}

/// Keeps the server's data in a directory of this machine, so that a power loss can cut the append-only
/// file. The engine must run on this machine, and reach the run's directory: an engine that cannot mount
/// the directory refuses to start the container.
///
/// # Errors
/// The directory cannot be created.
fn with_data(
    request: ContainerRequest<GenericImage>,
    host: &ContainerHost,
    order: &ServerOrder,
) -> Result<ContainerRequest<GenericImage>, BackendError> {
    if !order.loses_tail {
        return Ok(request);
    }
    let doing = format!("make {}", order.data.display());
    std::fs::create_dir_all(&order.data).map_err(io_error(doing))?;
    let mount = Mount::bind_mount(order.data.to_string_lossy(), DATA);
    let request = request.with_mount(mount).with_working_dir(DATA);
    Ok(match &host.user {
        Some(user) => request.with_user(user),
        None => request,
    })
}

/// Mounts the library and its file, read-only, if the wall clock of the server can be shifted.
fn with_wall_clock(
    request: ContainerRequest<GenericImage>,
    wall_clock: Option<&ShiftedWallClock>,
) -> ContainerRequest<GenericImage> {
    let Some(wall_clock) = wall_clock else {
        return request;
    };
    let (variables, files) = wall_clock.in_container();
    let request = variables
        .into_iter()
        .fold(request, |request, (name, value)| {
            request.with_env_var(name, value)
        });
    files.into_iter().fold(request, |request, (ours, theirs)| {
        let mount = Mount::bind_mount(ours.to_string_lossy(), theirs);
        request.with_mount(mount.with_access_mode(AccessMode::ReadOnly))
    })
}

/// Replaces "publish all ports everywhere", the default of testcontainers: a server of ours must only be
/// reachable from this machine.
fn publish_on_loopback(config: &mut HostConfig) {
    let binding = PortBinding {
        host_ip: Some(Ipv4Addr::LOCALHOST.to_string()),
        host_port: None,
    };
    config.publish_all_ports = Some(false);
    config.port_bindings = Some(HashMap::from([(
        format!("{PORT}/tcp"),
        Some(vec![binding]),
    )]));
}
