//! Worker processes in containers, for a lock under test that is an image.
//!
//! The container shares the host's network, because the proxy listens on loopback only. It has no capabilities, and its
//! memory and processes are limited. The engine freezes and kills the container as a whole, so no process in it
//! escapes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, ContainerState, HostConfig, HostConfigLogConfig, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::{CreateContainerOptionsBuilder, InspectContainerOptions};

use tokio::time::timeout;

use super::engine::{self, confine, labels, refused};
use super::reaper::ContainerWatch;
use super::{BackendError, Reaper, container_removal};

/// Pause between two checks whether a container has started.
const LOOK: Duration = Duration::from_millis(20);

/// The containers of a run's workers.
#[derive(Debug)]
pub struct WorkerContainers {
    engine: Docker,
    image: String,
    environment: Vec<String>,
    owner: String,
    watch: ContainerWatch,
    count: AtomicU64,
}

impl WorkerContainers {
    /// Checks that containers can be created. Returns `None` if `image` is `None`, that is, if workers do not run in
    /// containers. Pulls nothing.
    ///
    /// # Errors
    /// Returns an error if no engine answers, if the engine does not share this machine's network, or if it does not
    /// have the image.
    pub async fn prepare(
        image: Option<&str>,
        environment: &BTreeMap<String, String>,
        reaper: &Reaper,
    ) -> Result<Option<WorkerContainers>, BackendError> {
        let Some(image) = image else { return Ok(None) };
        let engine = engine::connect().await?;
        if engine::is_rootless(&engine).await {
            return Err(BackendError::RootlessEngine);
        }
        match engine.inspect_image(image).await {
            Ok(_) => {}
            Err(Error::DockerResponseServerError {
                status_code: 404, ..
            }) => {
                let image = image.to_owned();
                return Err(BackendError::NoLockImage { image });
            }
            Err(source) => return Err(refused("the workers", "inspect the image")(source)),
        }
        Ok(Some(WorkerContainers {
            engine,
            image: image.to_owned(),
            environment: environment
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            owner: reaper.owner().to_string(),
            watch: reaper.register_containers()?,
            count: AtomicU64::new(0),
        }))
    }

    /// Creates a container for this worker, without starting it. The process that carries the container's standard
    /// streams starts it.
    ///
    /// # Errors
    /// Returns an error if the engine refuses.
    pub async fn create(&self, worker: usize) -> Result<WorkerContainer, BackendError> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("picklock-worker-{}-{worker}-{number}", self.watch.run());
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let created = self
            .engine
            .create_container(Some(options), self.body())
            .await;
        created.map_err(refused(&name, "create the container"))?;
        Ok(WorkerContainer {
            engine: self.engine.clone(),
            name,
        })
    }

    fn body(&self) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(self.image.clone()),
            env: Some(self.environment.clone()),
            labels: Some(labels(self.watch.run(), &self.owner)),
            open_stdin: Some(true),
            // The input of the container ends when the process that writes to it is gone.
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            host_config: Some(host_config()),
            ..ContainerCreateBody::default()
        }
    }

    /// Removes the remaining containers.
    pub async fn end(self) {
        container_removal::end(self.watch).await;
    }
}

fn host_config() -> HostConfig {
    let mut config = HostConfig {
        network_mode: Some("host".to_owned()),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        // The engine need not log the output, because it is read from the streams.
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".to_owned()),
            config: None,
        }),
        ..HostConfig::default()
    };
    confine(&mut config, &[]);
    config
}

/// One worker's container.
#[derive(Debug, Clone)]
pub struct WorkerContainer {
    engine: Docker,
    name: String,
}

impl WorkerContainer {
    /// Returns the name by which the engine knows the container.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Freezes all processes of the container. Returns after they have stopped. After an error, they continue to run.
    ///
    /// # Errors
    /// Returns an error if the container is not running, or the engine refuses or does not report it as frozen.
    pub async fn freeze(&self) -> Result<(), BackendError> {
        let paused = engine::pause_container(&self.engine, &self.name).await;
        paused.map_err(refused(&self.name, "pause the container"))?;
        let frozen = self.check_is_frozen().await;
        if frozen.is_err() {
            // Thaw the container here, because the caller does not do that after an error. If this fails, the container
            // is gone.
            self.thaw().await.unwrap_or_default();
        }
        frozen
    }

    async fn check_is_frozen(&self) -> Result<(), BackendError> {
        match self.state().await?.and_then(|state| state.paused) {
            Some(true) => Ok(()),
            _ => Err(BackendError::Down(self.name.clone())),
        }
    }

    /// Thaws the processes of the container. A container that is gone or not frozen is not an error.
    ///
    /// # Errors
    /// Returns an error if the engine refuses.
    pub async fn thaw(&self) -> Result<(), BackendError> {
        let resumed = engine::unpause_container(&self.engine, &self.name).await;
        resumed.map_err(refused(&self.name, "resume the container"))
    }

    /// Sends SIGTERM to the container's program.
    ///
    /// # Errors
    /// Returns an error if the engine refuses.
    pub async fn terminate(&self) -> Result<(), BackendError> {
        let sent = engine::terminate_container(&self.engine, &self.name).await;
        sent.map_err(refused(&self.name, "terminate the container"))
    }

    /// Kills all processes of the container, frozen or not, and removes the container. Returns after the processes have
    /// died. A container that is already gone is not an error.
    ///
    /// # Errors
    /// Returns an error if the engine refuses.
    pub async fn remove(&self) -> Result<(), BackendError> {
        let removed = engine::remove_container(&self.engine, &self.name).await;
        removed.map_err(refused(&self.name, "remove the container"))
    }

    /// Waits until the container's program was started. Also returns when `ended` completes, because the process that
    /// should have started the program is then gone.
    ///
    /// # Errors
    /// Returns an error if the engine refuses.
    pub async fn until_begun<T>(&self, ended: impl Future<Output = T>) -> Result<(), BackendError> {
        let mut ended = std::pin::pin!(ended);
        while !self.has_begun().await? {
            if timeout(LOOK, &mut ended).await.is_ok() {
                break;
            }
        }
        Ok(())
    }

    /// Returns `true` if the container's program was started, even if it has exited since.
    async fn has_begun(&self) -> Result<bool, BackendError> {
        let state = self.state().await?;
        let started_at = state.and_then(|state| state.started_at);
        // The engine reports the first second of the year 1 for "never".
        Ok(started_at.is_some_and(|at| !at.starts_with("0001-")))
    }

    /// Returns the PIDs of the container's processes on this machine, or an empty set if the engine does not report
    /// them.
    pub async fn processes(&self) -> BTreeSet<u32> {
        let Ok(top) = self.engine.top_processes(&self.name, None).await else {
            return BTreeSet::new();
        };
        let titles = top.titles.unwrap_or_default();
        let Some(column) = titles.iter().position(|title| title == "PID") else {
            return BTreeSet::new();
        };
        let lines = top.processes.unwrap_or_default().into_iter();
        lines
            .filter_map(|line| line.get(column)?.parse().ok())
            .collect()
    }

    async fn state(&self) -> Result<Option<ContainerState>, BackendError> {
        let options = None::<InspectContainerOptions>;
        let found = self.engine.inspect_container(&self.name, options).await;
        let found = found.map_err(refused(&self.name, "inspect the container"))?;
        Ok(found.state)
    }
}
