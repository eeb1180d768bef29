//! Requests to the container engine, apart from those of single containers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::HostConfig;
use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use tokio::time::timeout;

use super::{BackendError, ProcessIdentity};

/// Label with the run's id.
pub(super) const RUN_LABEL: &str = "picklock.run";

/// Label with the [`ProcessIdentity`] of the process that owns the run.
pub(super) const OWNER_LABEL: &str = "picklock.owner";

/// The labels of what belongs to this run of this owner.
pub(super) fn labels(run: &str, owner: &str) -> HashMap<String, String> {
    let labels = [(RUN_LABEL, run), (OWNER_LABEL, owner)];
    HashMap::from(labels.map(|(label, value)| (label.to_owned(), value.to_owned())))
}

/// Bytes of memory that a container of a run may use, swap included.
const MEMORY: i64 = 1 << 30;

/// Processes and threads that it may have.
const PROCESSES: i64 = 512;

/// Bounds its memory and its processes, and takes all capabilities from it but these.
pub(super) fn confine(config: &mut HostConfig, capabilities: &[&str]) {
    config.memory = Some(MEMORY);
    config.memory_swap = Some(MEMORY);
    config.pids_limit = Some(PROCESSES);
    config.cap_drop = Some(vec!["ALL".to_owned()]);
    let kept = capabilities.iter().map(|name| (*name).to_owned());
    config.cap_add = Some(kept.collect());
    config.security_opt = Some(vec!["no-new-privileges".to_owned()]);
}

/// Whose a container or a network with these labels is; `None`: it is none of ours.
pub(super) fn owner(labels: Option<&HashMap<String, String>>) -> Option<ProcessIdentity> {
    labels?.get(OWNER_LABEL)?.parse().ok()
}

/// A local engine answers within milliseconds, but on a busy machine it may take seconds. Who only looks whether there
/// is one asks with less patience of its own.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// Patience of who can do without an engine.
const SHORT_PATIENCE: Duration = Duration::from_millis(700);

/// The engine, if it answers.
pub(super) async fn connect() -> Result<Docker, BackendError> {
    connect_within(ANSWER_PATIENCE).await
}

/// The engine, if it answers at once.
pub(super) async fn connect_at_once() -> Result<Docker, BackendError> {
    connect_within(SHORT_PATIENCE).await
}

async fn connect_within(patience: Duration) -> Result<Docker, BackendError> {
    let asked = async {
        let engine = client().map_err(|e| sentence(&e))?;
        engine.ping().await.map_err(|e| sentence(&e))?;
        Ok(engine)
    };
    timeout(patience, asked)
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))
        .map_err(BackendError::Engine)
}

/// A client of the engine that `DOCKER_HOST` names, else of the one that listens at the first of the places that engines
/// of this machine use. Nothing is asked yet.
fn client() -> Result<Docker, Error> {
    let named = std::env::var("DOCKER_HOST").ok();
    if let Some(host) = named.filter(|host| !host.is_empty()) {
        return Docker::connect_with_host(&host);
    }
    let below = |variable: &str, path: &str| {
        let folder = std::env::var_os(variable)?;
        Some(PathBuf::from(folder).join(path))
    };
    // Without root; Docker Desktop.
    let others = [
        below("XDG_RUNTIME_DIR", "docker.sock"),
        below("HOME", ".docker/run/docker.sock"),
        below("HOME", ".docker/desktop/docker.sock"),
    ];
    let usual = PathBuf::from("/var/run/docker.sock");
    let mut all = std::iter::once(usual.clone()).chain(others.into_iter().flatten());
    let place = all.find(|path| path.exists()).unwrap_or(usual);
    Docker::connect_with_host(&format!("unix://{}", place.display()))
}

/// An error with its causes: the texts of the engine client leave out the cause.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// True if the engine runs without root. Then its containers' host network is not this machine's.
pub(super) async fn is_rootless(engine: &Docker) -> bool {
    let options = engine.info().await.map(|info| info.security_options);
    let options = options.unwrap_or_default();
    options.iter().flatten().any(|it| it.contains("rootless"))
}

/// The user that a server must run as so that this process may change its files; `None` for the user
/// that the image chooses. Root may change every file. In a rootless engine the root of a container is
/// the user of the engine.
pub(super) async fn user_of_our_files(engine: &Docker) -> Option<String> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if user.is_root() {
        return None;
    }
    (!is_rootless(engine).await).then(|| format!("{}:{}", user.as_raw(), group.as_raw()))
}

/// How often a container is asked to freeze. Its processes must all stand still before the kernel calls it frozen, and on a
/// busy machine the engine gives up on that too soon (its answer is 500 then, and they run again).
const FREEZES: usize = 5;

/// Freezes a container: all its processes have stopped when this returns.
pub(super) async fn pause_container(engine: &Docker, id: &str) -> Result<(), Error> {
    insist(async || engine.pause_container(id).await).await
}

/// Lets a container run again. One that is gone, or that was started again and is not frozen, is no error.
pub(super) async fn unpause_container(engine: &Docker, id: &str) -> Result<(), Error> {
    let Err(refusal) = engine.unpause_container(id).await else {
        return Ok(());
    };
    let found = engine.inspect_container(id, None::<InspectContainerOptions>);
    match found.await.map(|found| found.state) {
        Ok(state) if state.as_ref().and_then(|state| state.paused) != Some(true) => Ok(()),
        Err(Error::DockerResponseServerError {
            status_code: 404, ..
        }) => Ok(()),
        _ => Err(refusal),
    }
}

async fn insist(freeze: impl AsyncFn() -> Result<(), Error>) -> Result<(), Error> {
    for _ in 1..FREEZES {
        match freeze().await {
            Err(Error::DockerResponseServerError {
                status_code: 500, ..
            }) => {}
            other => return other,
        }
    }
    freeze().await
}

/// Kills a container if it is up, and removes it with its volumes. One that is gone already, or is being
/// removed, is no error.
pub(super) async fn remove_container(engine: &Docker, id: &str) -> Result<(), Error> {
    let options = RemoveContainerOptionsBuilder::new()
        .force(true)
        .v(true)
        .build();
    match engine.remove_container(id, Some(options)).await {
        Err(Error::DockerResponseServerError {
            status_code: 404 | 409,
            ..
        }) => Ok(()),
        other => other,
    }
}

/// The engine refused what was asked of a container. `name`: which one, or what it is for.
pub(super) fn refused<E: std::error::Error + Send + Sync + 'static>(
    name: &str,
    doing: &'static str,
) -> impl FnOnce(E) -> BackendError + use<E> {
    let node = name.to_owned();
    move |source| BackendError::Refused {
        node,
        doing,
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn refusal(status_code: u16) -> Error {
        Error::DockerResponseServerError {
            status_code,
            message: "no".to_owned(),
        }
    }

    /// An engine that gives these answers in turn, and the last one from then on: what came of it, and how often it
    /// was asked.
    async fn insisted(answers: &[Option<u16>]) -> (bool, usize) {
        let asked = Cell::new(0);
        let outcome = insist(async || {
            let answer = answers[asked.get().min(answers.len() - 1)];
            asked.set(asked.get() + 1);
            answer.map_or(Ok(()), |code| Err(refusal(code)))
        });
        (outcome.await.is_ok(), asked.get())
    }

    #[tokio::test]
    async fn busy_engine_is_asked_again_and_another_refusal_is_final() {
        assert_eq!(insisted(&[Some(500), Some(500), None]).await, (true, 3));
        assert_eq!(insisted(&[Some(500)]).await, (false, FREEZES));
        assert_eq!(insisted(&[Some(409)]).await, (false, 1));
        assert_eq!(insisted(&[None]).await, (true, 1));
    }
}
