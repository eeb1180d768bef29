//! Requests to the container engine, except those for single containers of servers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::HostConfig;
use bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptionsBuilder, RemoveContainerOptionsBuilder,
};
use tokio::time::timeout;

use super::{BackendError, ProcessIdentity};

/// Label with the ID of the run.
pub(super) const RUN_LABEL: &str = "picklock.run";

/// Label with the [`ProcessIdentity`] of the process that owns the run.
pub(super) const OWNER_LABEL: &str = "picklock.owner";

/// Returns the labels for objects of this run of this owner.
pub(super) fn labels(run: &str, owner: &str) -> HashMap<String, String> {
    let labels = [(RUN_LABEL, run), (OWNER_LABEL, owner)];
    HashMap::from(labels.map(|(label, value)| (label.to_owned(), value.to_owned())))
}

/// Maximum memory of a container, including swap, in bytes.
const MEMORY: i64 = 1 << 30;

/// Maximum number of processes and threads in a container.
const PROCESSES: i64 = 512;

/// Limits a container's memory and processes, and drops all capabilities except the given ones.
pub(super) fn confine(config: &mut HostConfig, capabilities: &[&str]) {
    config.memory = Some(MEMORY);
    config.memory_swap = Some(MEMORY);
    config.pids_limit = Some(PROCESSES);
    config.cap_drop = Some(vec!["ALL".to_owned()]);
    let added = capabilities.iter().map(|name| (*name).to_owned());
    config.cap_add = Some(added.collect());
    config.security_opt = Some(vec!["no-new-privileges".to_owned()]);
}

/// Returns the owner of a container or network with these labels, or `None` if it does not belong to Picklock.
pub(super) fn owner(labels: Option<&HashMap<String, String>>) -> Option<ProcessIdentity> {
    labels?.get(OWNER_LABEL)?.parse().ok()
}

/// How long to wait for the engine. A local engine answers within milliseconds, but a busy machine may take seconds.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for the engine if the caller only checks whether an engine exists.
const SHORT_PATIENCE: Duration = Duration::from_millis(700);

/// Connects to the engine.
pub(super) async fn connect() -> Result<Docker, BackendError> {
    connect_within(ANSWER_PATIENCE).await
}

/// Connects to the engine if it answers quickly.
pub(super) async fn connect_at_once() -> Result<Docker, BackendError> {
    connect_within(SHORT_PATIENCE).await
}

async fn connect_within(patience: Duration) -> Result<Docker, BackendError> {
    let connected = async {
        let engine = client().map_err(|e| with_causes(&e))?;
        engine.ping().await.map_err(|e| with_causes(&e))?;
        Ok(engine)
    };
    timeout(patience, connected)
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))
        .map_err(BackendError::Engine)
}

/// Creates a client for the engine of `DOCKER_HOST`. If the variable is not set, uses the first socket that exists
/// among the usual ones. Sends nothing yet.
fn client() -> Result<Docker, Error> {
    let named = std::env::var("DOCKER_HOST").ok();
    if let Some(host) = named.filter(|host| !host.is_empty()) {
        return Docker::connect_with_host(&host);
    }
    let below = |variable: &str, path: &str| {
        let folder = std::env::var_os(variable)?;
        Some(PathBuf::from(folder).join(path))
    };
    // The sockets of rootless Docker, and of Docker Desktop.
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

/// Returns an error's text with the texts of its causes, which the engine client's own texts omit.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
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

/// Returns `true` if the engine runs without root. The host network of its containers is then not this machine's
/// network.
pub(super) async fn is_rootless(engine: &Docker) -> bool {
    let info = engine.info().await.unwrap_or_default();
    let mut options = info.security_options.into_iter().flatten();
    options.any(|option| option.contains("rootless"))
}

/// Returns the user for a server whose files this process must be able to change, or `None` for the image's own user.
/// Root may change every file. In a rootless engine, root in a container is the user of the engine.
pub(super) async fn user_of_our_files(engine: &Docker) -> Option<String> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if user.is_root() {
        return None;
    }
    (!is_rootless(engine).await).then(|| format!("{}:{}", user.as_raw(), group.as_raw()))
}

/// Maximum number of attempts to freeze a container. The kernel reports a container as frozen only once all its
/// processes have stopped. On a busy machine the engine gives up too early: it answers with status 500, and the
/// processes continue to run.
const FREEZES: usize = 5;

/// Freezes a container. Returns after all its processes have stopped.
pub(super) async fn pause_container(engine: &Docker, id: &str) -> Result<(), Error> {
    retry_if_busy(async || engine.pause_container(id).await).await
}

/// Thaws a container. A container that is gone, or that was restarted and is not frozen, is not an error.
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

async fn retry_if_busy(freeze: impl AsyncFn() -> Result<(), Error>) -> Result<(), Error> {
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

/// Sends SIGTERM to the program of a container, like the first step of `docker stop`.
pub(super) async fn terminate_container(engine: &Docker, id: &str) -> Result<(), Error> {
    let options = KillContainerOptionsBuilder::new().signal("SIGTERM").build();
    engine.kill_container(id, Some(options)).await
}

/// Kills a running container, and removes it with its volumes. A container that is gone or is being removed is not an
/// error.
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

/// Creates the error for a request that the engine refused. `name` identifies the container, or its purpose.
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

    /// Freezes with an engine that returns these status codes in turn, and then repeats the last one. Returns whether
    /// the freeze succeeded, and the number of attempts.
    async fn freeze_with(answers: &[Option<u16>]) -> (bool, usize) {
        let attempts = Cell::new(0);
        let outcome = retry_if_busy(async || {
            let answer = answers[attempts.get().min(answers.len() - 1)];
            attempts.set(attempts.get() + 1);
            answer.map_or(Ok(()), |code| Err(refusal(code)))
        });
        (outcome.await.is_ok(), attempts.get())
    }

    #[tokio::test]
    async fn freeze_is_retried_if_busy_and_not_after_another_refusal() {
        assert_eq!(freeze_with(&[Some(500), Some(500), None]).await, (true, 3));
        assert_eq!(freeze_with(&[Some(500)]).await, (false, FREEZES));
        assert_eq!(freeze_with(&[Some(409)]).await, (false, 1));
        assert_eq!(freeze_with(&[None]).await, (true, 1));
    }
}
