use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{join_all, try_join_all};
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{HostConfig, PortBinding};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptionsBuilder, LogsOptionsBuilder, WaitContainerOptions,
};
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt, TestcontainersError};

use super::engine::{self, OWNER_LABEL, RUN_LABEL};
use super::node_log::READY;
use super::reaper::ContainerWatch;
use super::{Image, Layout, Reaper, Servers, WorldError, probe, settings};
use crate::record;

/// Redis's port inside a container.
const PORT: u16 = 6379;

/// How long a container may take to start, on an engine that is busy.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Redis servers in containers, published on loopback only.
#[derive(Debug)]
pub struct DockerServers {
    nodes: Vec<Node>,
    server: record::Redis,
    engine: Docker,
    dir: PathBuf,
    watch: ContainerWatch,
}

#[derive(Debug)]
struct Node {
    master: Server,
    replicas: Vec<Server>,
}

/// One container.
struct Server {
    name: String,
    container: ContainerAsync<GenericImage>,
    address: Mutex<SocketAddr>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.container.id();
        write!(f, "{} ({id}) at {}", self.name, self.address())
    }
}

impl DockerServers {
    /// Starts all containers together, after pulling the image if need be. Their logs go into
    /// `dir` (`node-0.log`) when they are stopped.
    ///
    /// # Errors
    /// Where no engine answers, the image cannot be pulled, or a server does not come up; what did
    /// come up is removed again.
    pub async fn start(
        image: &Image,
        layout: Layout,
        dir: &Path,
        reaper: &Reaper,
    ) -> Result<DockerServers, WorldError> {
        let engine = engine::connect().await?;
        image.fetch(&engine).await?;
        let program = image.program(&engine).await?;
        let run = fresh_run(reaper);
        let watch = reaper.containers(&run)?;
        let request = Request {
            image,
            layout,
            program: &program,
            run: &run,
            owner: &reaper.owner().to_string(),
        };
        let started = start_nodes(&engine, request).await;
        let (nodes, server) = match started {
            Ok(started) => started,
            Err(error) => {
                // Starts that were given up because of this one may have left containers.
                engine::remove_run(&run).await;
                return Err(error);
            }
        };
        Ok(DockerServers {
            nodes,
            server,
            engine,
            dir: dir.to_owned(),
            watch,
        })
    }

    /// The value of the label `picklock.run` of these containers, and of no others.
    pub fn run_id(&self) -> &str {
        self.watch.run()
    }

    /// Copies a container's whole log into the run's directory.
    async fn keep_log(&self, server: &Server) -> Result<(), WorldError> {
        let path = self.dir.join(format!("{}.log", server.name));
        let text = log(&self.engine, server, "all").await;
        let doing = format!("write {}", path.display());
        std::fs::write(path, text).map_err(super::error::io_error(doing))
    }
}

/// What all containers of a run have in common.
#[derive(Clone, Copy)]
struct Request<'a> {
    image: &'a Image,
    layout: Layout,
    program: &'a str,
    run: &'a str,
    owner: &'a str,
}

/// An id that no other run has, of this process or of any other.
fn fresh_run(reaper: &Reaper) -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let owner = reaper.owner().to_string();
    format!("{:016x}", crate::entropy::derive(0, &owner, number))
}

/// Starts all containers at once, and links replicas to masters as soon as both are up.
async fn start_nodes(
    engine: &Docker,
    request: Request<'_>,
) -> Result<(Vec<Node>, record::Redis), WorldError> {
    let Layout {
        nodes, replicas, ..
    } = request.layout;
    let start_node = |node| async move {
        let master = Server::start(format!("node-{node}"), request);
        let replica = |replica| Server::start(format!("node-{node}-replica-{replica}"), request);
        let replicas = try_join_all((0..replicas).map(replica));
        let (master, replicas) = futures_util::try_join!(master, replicas)?;
        if !replicas.is_empty() {
            let seen = master.address_on_the_bridge(engine).await?;
            let links = replicas
                .iter()
                .map(|replica| probe::follow(replica.address(), seen));
            try_join_all(links).await?;
        }
        Ok::<Node, WorldError>(Node { master, replicas })
    };
    let nodes = try_join_all((0..nodes).map(start_node)).await?;
    let server = match nodes.first() {
        Some(node) => probe::identify(node.master.address()).await?,
        None => record::Redis::default(),
    };
    Ok((nodes, server))
}

impl Server {
    async fn start(name: String, request: Request<'_>) -> Result<Server, WorldError> {
        let (image, tag) = request.image.name_and_tag();
        let mut command = vec![request.program.to_owned()];
        command.extend(settings::arguments(request.layout.persistence));
        // Whoever reaches the container's port came through loopback or from our other
        // containers; for Redis they are all strangers.
        command.extend(["--protected-mode".to_owned(), "no".to_owned()]);
        let container = GenericImage::new(image, tag)
            .with_exposed_port(PORT.tcp())
            .with_wait_for(WaitFor::message_on_stdout(READY))
            .with_cmd(command)
            .with_label(RUN_LABEL, request.run)
            .with_label(OWNER_LABEL, request.owner)
            .with_host_config_modifier(publish_on_loopback)
            .with_startup_timeout(START_PATIENCE)
            .start()
            .await
            .map_err(failed(&name, "start the container"))?;
        let address = published(&name, &container).await?;
        Ok(Server {
            name,
            container,
            address: Mutex::new(address),
        })
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where other containers of the engine reach it. Changes when it is started again.
    async fn address_on_the_bridge(&self, engine: &Docker) -> Result<SocketAddr, WorldError> {
        let id = self.container.id();
        let found = engine
            .inspect_container(id, None::<InspectContainerOptions>)
            .await
            .map_err(self.refused("inspect the container"))?;
        let networks = found
            .network_settings
            .and_then(|settings| settings.networks);
        let ip = networks
            .into_iter()
            .flatten()
            .find_map(|(_, endpoint)| endpoint.ip_address?.parse().ok());
        ip.map(|ip: IpAddr| SocketAddr::new(ip, PORT))
            .ok_or_else(|| WorldError::NoNetwork(self.name.clone()))
    }

    fn refused(&self, doing: &'static str) -> impl FnOnce(Error) -> WorldError {
        let node = self.name.clone();
        move |source| WorldError::Refused {
            node,
            doing,
            source: Box::new(source),
        }
    }

    async fn is_running(&self) -> Result<bool, WorldError> {
        let asked = self.container.is_running().await;
        asked.map_err(failed(&self.name, "ask for the container's state"))
    }

    async fn must_run(&self) -> Result<(), WorldError> {
        if self.is_running().await? {
            Ok(())
        } else {
            Err(WorldError::Down(self.name.clone()))
        }
    }

    /// Kills it, and waits until the engine has noticed its death.
    async fn crash(&self, engine: &Docker) -> Result<(), WorldError> {
        let id = self.container.id();
        let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
        engine
            .kill_container(id, Some(options))
            .await
            .map_err(self.refused("kill the container"))?;
        let mut waiting = engine.wait_container(id, None::<WaitContainerOptions>);
        match waiting.next().await {
            // A status other than zero is what a killed container ends with.
            Some(Ok(_)) | Some(Err(Error::DockerContainerWaitError { .. })) | None => Ok(()),
            Some(Err(error)) => Err(self.refused("wait for the container's end")(error)),
        }
    }

    async fn restart(&self) -> Result<SocketAddr, WorldError> {
        if self.is_running().await? {
            return Err(WorldError::Up(self.name.clone()));
        }
        let started = self.container.start().await;
        started.map_err(failed(&self.name, "start the container again"))?;
        let address = published(&self.name, &self.container).await?;
        probe::await_answer(&self.name, address).await?;
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = address;
        Ok(address)
    }
}

/// Replaces "publish all ports everywhere", the default of testcontainers: a Redis without a
/// password is nobody's business but this machine's.
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

async fn published(
    name: &str,
    container: &ContainerAsync<GenericImage>,
) -> Result<SocketAddr, WorldError> {
    let port = container.get_host_port_ipv4(PORT.tcp()).await;
    let port = port.map_err(failed(name, "ask for the published port"))?;
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

fn failed(name: &str, doing: &'static str) -> impl FnOnce(TestcontainersError) -> WorldError {
    let node = name.to_owned();
    move |source| WorldError::Container {
        node,
        doing,
        source: Box::new(source),
    }
}

/// The last lines that a container printed; what cannot be read is left out.
async fn log(engine: &Docker, server: &Server, lines: &str) -> String {
    let options = LogsOptionsBuilder::new()
        .stdout(true)
        .stderr(true)
        .tail(lines)
        .build();
    let mut frames = engine.logs(server.container.id(), Some(options));
    let mut text = String::new();
    while let Some(Ok(frame)) = frames.next().await {
        text.push_str(&String::from_utf8_lossy(&frame.into_bytes()));
    }
    text
}

impl Servers for DockerServers {
    fn address(&self, node: usize) -> SocketAddr {
        self.nodes[node].master.address()
    }

    fn replica_address(&self, node: usize, replica: usize) -> SocketAddr {
        self.nodes[node].replicas[replica].address()
    }

    fn server(&self) -> &record::Redis {
        &self.server
    }

    async fn pause(&self, node: usize) -> Result<(), WorldError> {
        let server = &self.nodes[node].master;
        server.must_run().await?;
        let paused = server.container.pause().await;
        paused.map_err(failed(&server.name, "pause the container"))
    }

    async fn resume(&self, node: usize) -> Result<(), WorldError> {
        let server = &self.nodes[node].master;
        server.must_run().await?;
        let resumed = server.container.unpause().await;
        resumed.map_err(failed(&server.name, "resume the container"))
    }

    async fn crash(&self, node: usize) -> Result<(), WorldError> {
        let server = &self.nodes[node].master;
        server.must_run().await?;
        server.crash(&self.engine).await
    }

    async fn restart(&self, node: usize) -> Result<SocketAddr, WorldError> {
        let Node { master, replicas } = &self.nodes[node];
        let address = master.restart().await?;
        // The container's own address may be another one now: whoever still follows must be told.
        for replica in replicas {
            if probe::is_replica(replica.address()).await? {
                let seen = master.address_on_the_bridge(&self.engine).await?;
                probe::follow(replica.address(), seen).await?;
            }
        }
        Ok(address)
    }

    async fn log_tail(&self, node: usize, lines: usize) -> String {
        let text = log(&self.engine, &self.nodes[node].master, &lines.to_string()).await;
        text.trim_end().to_owned()
    }

    async fn stop(mut self) -> Result<(), WorldError> {
        let nodes = std::mem::take(&mut self.nodes);
        let servers = nodes
            .into_iter()
            .flat_map(|node| std::iter::once(node.master).chain(node.replicas));
        let this = &self;
        let ends = join_all(servers.map(|server| async move {
            let kept = this.keep_log(&server).await;
            let Server {
                name, container, ..
            } = server;
            let removed = container.rm().await;
            removed.map_err(failed(&name, "remove the container"))?;
            kept
        }));
        let ended: Result<(), WorldError> = ends.await.into_iter().collect();
        if ended.is_ok() {
            self.watch.settle();
        }
        ended
    }
}
