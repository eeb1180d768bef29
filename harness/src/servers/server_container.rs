use std::collections::HashMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{HostConfig, PortBinding};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptionsBuilder, LogsOptionsBuilder, WaitContainerOptions,
};
use testcontainers::core::{AccessMode, IntoContainerPort, Mount};
use testcontainers::runners::AsyncRunner;
use testcontainers::{
    ContainerAsync, ContainerRequest, GenericImage, ImageExt, TestcontainersError,
};
use tokio::io::AsyncBufReadExt;
use tokio::time::timeout;

use super::container_data::{ContainerData, DataDirectories};
use super::container_limits::confine;
use super::engine::{self, OWNER_LABEL, RUN_LABEL};
use super::node_log::{last_words, says_ready};
use super::{
    BackendError, Image, Layout, Password, ServerAddress, ShiftedWallClock, WallClockShim,
    server_arguments, server_queries, wall_clock_shim,
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

/// What all containers of a run have in common.
#[derive(Clone, Copy)]
pub(super) struct Recipe<'a> {
    pub engine: &'a Docker,
    pub image: &'a Image,
    pub layout: Layout,
    /// The server program in the image.
    pub program: &'a str,
    /// Values of the two labels.
    pub run: &'a str,
    pub owner: &'a str,
    /// The network of the run's servers.
    pub network: &'a str,
    /// What every server and Sentinel wants of its clients.
    pub password: Password,
    /// The library that shifts wall clocks, if the run needs it.
    pub clock_shim: Option<&'a WallClockShim>,
    /// Where the servers keep their data, if a crash is a power loss.
    pub data: Option<&'a DataDirectories>,
}

/// One server in a container of its own.
pub(super) struct ServerContainer {
    name: String,
    engine: Docker,
    /// Never dropped: that would remove the container, and nothing else could happen meanwhile, one container
    /// after the other. What was not removed is left to the reaper.
    container: ManuallyDrop<ContainerAsync<GenericImage>>,
    address: Mutex<SocketAddr>,
    password: Password,
    extras: Extras,
}

/// What only some servers need.
#[derive(Default)]
struct Extras {
    /// The user as which it follows a master of its node; `None`: a Sentinel.
    follower: Option<String>,
    wall_clock: Option<ShiftedWallClock>,
    data: Option<ContainerData>,
}

impl fmt::Debug for ServerContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.container.id();
        write!(f, "{} ({id}) at {}", self.name, self.address())
    }
}

impl ServerContainer {
    /// Starts it, and waits until it accepts connections. `family` names the node: only its own
    /// replicas get a master's data.
    pub(super) async fn start(
        name: String,
        family: &str,
        recipe: Recipe<'_>,
    ) -> Result<Self, BackendError> {
        let mut command = vec![recipe.program.to_owned()];
        command.extend(server_arguments::arguments(recipe.layout.persistence));
        // Official images switch it off. It refuses only servers that want no password.
        command.extend(["--protected-mode".to_owned(), "yes".to_owned()]);
        let follower = format!("{}-{family}", recipe.run);
        command.extend(users(recipe.password, &follower));
        let wall_clock = recipe.clock_shim.map(|shim| shim.clock(&name));
        let data = recipe.data.map(|directories| directories.create(&name));
        let extras = Extras {
            follower: Some(follower),
            wall_clock: wall_clock.transpose()?,
            data: data.transpose()?,
        };
        let (image, tag) = recipe.image.name_and_tag();
        let request = GenericImage::new(image, tag)
            .with_exposed_port(PORT.tcp())
            .with_cmd(command);
        Self::launch(name, request, extras, recipe).await
    }

    /// Starts a Sentinel with this configuration, and waits until it accepts connections.
    pub(super) async fn start_sentinel(
        name: String,
        configuration: String,
        recipe: Recipe<'_>,
    ) -> Result<Self, BackendError> {
        let (image, tag) = recipe.image.name_and_tag();
        let port = PORT.to_string();
        let command = [recipe.program, SENTINEL_FILE, "--sentinel", "--port", &port];
        let request = GenericImage::new(image, tag)
            .with_exposed_port(PORT.tcp())
            .with_copy_to(SENTINEL_FILE, configuration.into_bytes())
            .with_cmd(command);
        Self::launch(name, request, Extras::default(), recipe).await
    }

    async fn launch(
        name: String,
        request: ContainerRequest<GenericImage>,
        extras: Extras,
        recipe: Recipe<'_>,
    ) -> Result<Self, BackendError> {
        let request = match &extras.data {
            Some(data) => data.mounted(request),
            None => request,
        };
        let network = recipe.network.to_owned();
        let request = request
            .with_label(RUN_LABEL, recipe.run)
            .with_label(OWNER_LABEL, recipe.owner)
            .with_host_config_modifier(move |config| {
                config.network_mode = Some(network.clone());
                publish_on_loopback(config);
                confine(config, &CAPABILITIES);
            });
        let request = with_wall_clock(request, extras.wall_clock.as_ref());
        // A start that is cancelled is not dropped either, for the same reason.
        let mut start = ManuallyDrop::new(request.start());
        let started = start.as_mut().await;
        drop(ManuallyDrop::into_inner(start));
        let server = ServerContainer {
            container: ManuallyDrop::new(started.map_err(failed(&name, "start the container"))?),
            name,
            engine: recipe.engine.clone(),
            // Set when it is ready: a server that dies at start has no port.
            address: Mutex::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            password: recipe.password,
            extras,
        };
        match timeout(START_PATIENCE, server.is_ready()).await {
            Ok(true) => {}
            Ok(false) => return Err(server.died_at_start(recipe).await),
            Err(_) => {
                return Err(BackendError::NotReady {
                    node: server.name.clone(),
                    after: START_PATIENCE,
                    log: last_words(&server.log("10").await),
                });
            }
        }
        server.ask_for_the_address().await?;
        server.give_password_to_masters().await?;
        server.extras.data.iter().for_each(ContainerData::begin);
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

    async fn died_at_start(&self, recipe: Recipe<'_>) -> BackendError {
        let status = match self.container.exit_code().await {
            Ok(Some(code)) => format!("exit status: {code}"),
            _ => "exit status unknown".to_owned(),
        };
        let program = format!("{} of {}", recipe.program, recipe.image.reference());
        BackendError::DiedAtStart {
            node: self.name.clone(),
            program: program.into(),
            status,
            log: last_words(&self.log("10").await),
        }
    }

    /// Asks the engine where the port is published. It changes with every start.
    async fn ask_for_the_address(&self) -> Result<ServerAddress, BackendError> {
        let port = self.container.get_host_port_ipv4(PORT.tcp()).await;
        let port = port.map_err(failed(&self.name, "ask for the published port"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        Ok(self.address())
    }

    /// Tells the server what to say to a master that it follows. It is not on its command line, which
    /// everybody can read, so it must be told after each start.
    async fn give_password_to_masters(&self) -> Result<(), BackendError> {
        match &self.extras.follower {
            Some(user) => server_queries::follow_as(self.address(), user, self.password).await,
            None => Ok(()),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where it is published on the host.
    pub(super) fn address(&self) -> ServerAddress {
        let socket = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        ServerAddress::new(socket, Some(self.password))
    }

    /// Its address for other containers of the engine. Changes when it is started again.
    pub(super) async fn address_among_containers(&self) -> Result<SocketAddr, BackendError> {
        let id = self.container.id();
        let found = self
            .engine
            .inspect_container(id, None::<InspectContainerOptions>);
        let found = found.await.map_err(self.refused("inspect the container"))?;
        let networks = found
            .network_settings
            .and_then(|settings| settings.networks);
        let mut endpoints = networks.into_iter().flatten();
        endpoints
            .find_map(|(_, endpoint)| endpoint.ip_address?.parse().ok())
            .map(|ip: IpAddr| SocketAddr::new(ip, PORT))
            .ok_or_else(|| BackendError::NoNetwork(self.name.clone()))
    }

    pub(super) async fn pause(&self) -> Result<(), BackendError> {
        self.must_run().await?;
        let paused = self.container.pause().await;
        paused.map_err(failed(&self.name, "pause the container"))
    }

    pub(super) async fn resume(&self) -> Result<(), BackendError> {
        self.must_run().await?;
        let resumed = self.container.unpause().await;
        resumed.map_err(failed(&self.name, "resume the container"))
    }

    /// Kills it, and waits until the engine has noticed its death. Where it is a power loss, what
    /// was not durable is then removed.
    pub(super) async fn crash(&self) -> Result<(), BackendError> {
        self.must_run().await?;
        let data = self.extras.data.as_ref();
        let lost_at_ns = data.and_then(ContainerData::now_ns);
        self.kill().await?;
        match (data, lost_at_ns) {
            (Some(data), Some(lost_at_ns)) => data.cut(lost_at_ns),
            _ => Ok(()),
        }
    }

    async fn kill(&self) -> Result<(), BackendError> {
        let id = self.container.id();
        let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
        let killed = self.engine.kill_container(id, Some(options)).await;
        killed.map_err(self.refused("kill the container"))?;
        let mut waiting = self.engine.wait_container(id, None::<WaitContainerOptions>);
        match waiting.next().await {
            // A killed container ends with a status other than zero.
            Some(Ok(_)) | Some(Err(Error::DockerContainerWaitError { .. })) | None => Ok(()),
            Some(Err(error)) => Err(self.refused("wait for the container's end")(error)),
        }
    }

    pub(super) async fn restart(&self) -> Result<ServerAddress, BackendError> {
        if self.is_running().await? {
            return Err(BackendError::Up(self.name.clone()));
        }
        let started = self.container.start().await;
        started.map_err(failed(&self.name, "start the container again"))?;
        let address = self.ask_for_the_address().await?;
        server_queries::await_answer(&self.name, address).await?;
        self.give_password_to_masters().await?;
        self.extras.data.iter().for_each(ContainerData::begin);
        Ok(address)
    }

    pub(super) async fn set_clock_off(&self, off_ns: i64) -> Result<(), BackendError> {
        let wall_clock = self.extras.wall_clock.as_ref();
        wall_clock_shim::set_off(&self.name, self.address(), wall_clock, off_ns).await
    }

    /// Kills it if it is up, and removes it with its volumes.
    pub(super) async fn remove(&self) -> Result<(), BackendError> {
        let removed = engine::remove_container(&self.engine, self.container.id()).await;
        removed.map_err(self.refused("remove the container"))
    }

    /// The last lines that it printed: `tail` is a number or `all`. Lines that cannot be read are
    /// left out.
    pub(super) async fn log(&self, lines: &str) -> String {
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
        asked.map_err(failed(&self.name, "ask for the container's state"))
    }

    async fn must_run(&self) -> Result<(), BackendError> {
        if self.is_running().await? {
            Ok(())
        } else {
            Err(BackendError::Down(self.name.clone()))
        }
    }

    fn refused(&self, doing: &'static str) -> impl FnOnce(Error) -> BackendError + use<> {
        engine::refused(&self.name, doing)
    }
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

/// The users of a server: everybody wants the password, of which its command line holds the digest only.
///
/// The next container that starts gets the address of a killed one, and replicas of the dead server
/// would copy the wrong data. So replication needs a user that only the servers of one node have.
fn users(password: Password, follower: &str) -> Vec<String> {
    let digest = password.digest();
    let words = format!(
        "--user default on #{digest} ~* &* +@all --user {follower} on #{digest} +psync +replconf +ping"
    );
    words.split(' ').map(str::to_owned).collect()
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

fn failed(
    name: &str,
    doing: &'static str,
) -> impl FnOnce(TestcontainersError) -> BackendError + use<> {
    let node = name.to_owned();
    move |source| BackendError::Container {
        node,
        doing,
        source: Box::new(source),
    }
}
