//! Worker processes in containers: the lock under test as an image.
//!
//! The container shares the host's network, because the proxy listens on loopback only. It gets no
//! capabilities, and bounds of memory and processes. It is frozen and killed by the engine, so no process
//! in it can get away.

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

/// The time between two looks at whether a container has started.
const LOOK: Duration = Duration::from_millis(20);

/// The containers of a run's workers.
#[derive(Debug)]
pub struct WorkerContainers {
    engine: Docker,
    image: String,
    environment: Vec<String>,
    owner: String,
    watch: ContainerWatch,
    made: AtomicU64,
}

impl WorkerContainers {
    /// Checks that they can be made; `None` where there is no image. Nothing is pulled.
    ///
    /// # Errors
    /// No engine answers, it does not share this machine's network, or it does not have the image.
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
            Err(source) => return Err(refused("the workers", "look at the image")(source)),
        }
        let environment = environment.iter();
        Ok(Some(WorkerContainers {
            engine,
            image: image.to_owned(),
            environment: environment
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            owner: reaper.owner().to_string(),
            watch: reaper.fresh_containers()?,
            made: AtomicU64::new(0),
        }))
    }

    /// Makes a container for this worker. It does not run yet: what carries its standard streams
    /// starts it.
    ///
    /// # Errors
    /// The engine refuses.
    pub async fn create(&self, worker: usize) -> Result<WorkerContainer, BackendError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("picklock-worker-{}-{worker}-{number}", self.watch.run());
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let created = self.engine.create_container(Some(options), self.body());
        let created = created.await;
        created.map_err(refused(&name, "make the container"))?;
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
            // When the one that writes to it is gone, the input ends.
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            host_config: Some(host_config()),
            ..ContainerCreateBody::default()
        }
    }

    /// Removes what is left of them.
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
        // What it writes comes to us; the engine need not keep it as well.
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
    /// The name by which the engine knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Freezes all its processes. They have stopped when this returns. Where this fails, they continue.
    ///
    /// # Errors
    /// It does not run, or the engine refuses or does not show it as frozen.
    pub async fn freeze(&self) -> Result<(), BackendError> {
        let paused = engine::pause_container(&self.engine, &self.name).await;
        paused.map_err(refused(&self.name, "pause the container"))?;
        let frozen = self.must_be_frozen().await;
        if frozen.is_err() {
            // Nobody would thaw it later. One that is gone need not continue.
            self.thaw().await.unwrap_or_default();
        }
        frozen
    }

    async fn must_be_frozen(&self) -> Result<(), BackendError> {
        match self.state().await?.and_then(|state| state.paused) {
            Some(true) => Ok(()),
            _ => Err(BackendError::Down(self.name.clone())),
        }
    }

    /// Lets its processes run again. One that is gone or not frozen is no error.
    ///
    /// # Errors
    /// The engine refuses.
    pub async fn thaw(&self) -> Result<(), BackendError> {
        let resumed = engine::unpause_container(&self.engine, &self.name).await;
        resumed.map_err(refused(&self.name, "resume the container"))
    }

    /// Kills all its processes, frozen or not, and removes it. They are dead when this returns. One that is
    /// gone already is no error.
    ///
    /// # Errors
    /// The engine refuses.
    pub async fn remove(&self) -> Result<(), BackendError> {
        let removed = engine::remove_container(&self.engine, &self.name).await;
        removed.map_err(refused(&self.name, "remove the container"))
    }

    /// Waits until its program was started. Also returns when `ended` does: what starts it has given up
    /// then.
    ///
    /// # Errors
    /// The engine refuses.
    pub async fn until_begun<T>(&self, ended: impl Future<Output = T>) -> Result<(), BackendError> {
        let mut ended = std::pin::pin!(ended);
        while !self.has_begun().await? {
            if timeout(LOOK, &mut ended).await.is_ok() {
                break;
            }
        }
        Ok(())
    }

    /// True if its program was started, whether or not it has ended since.
    async fn has_begun(&self) -> Result<bool, BackendError> {
        let state = self.state().await?;
        let started_at = state.and_then(|state| state.started_at);
        // The engine writes the first second of the year 1 for "never".
        Ok(started_at.is_some_and(|at| !at.starts_with("0001-")))
    }

    /// The ids of its processes, as this machine counts them; none where the engine does not tell.
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
        let found = found.map_err(refused(&self.name, "look at the container"))?;
        Ok(found.state)
    }
}
