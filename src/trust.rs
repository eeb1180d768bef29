//! The programs that a repro file would start on this machine. The file may be foreign, so nothing that it names is
//! started before the user has agreed.

use std::path::Path;

use picklock_harness::record::Repro;
use picklock_harness::spec::ServerChoice;
use picklock_reports::escape::visible;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::BackendName;

use crate::exit::Failure;
use crate::named_lock::{DOCKER, EXEC};

/// Refuses a repro that names programs, unless they are `trusted`. The user's own `servers` replace the file's servers.
/// If `backend` is `None`, the best available backend counts.
///
/// # Errors
/// Returns an error that lists what the file would start and the servers that it would write to, and names the flag
/// that permits this.
pub fn check(
    repro: &Repro,
    file: &Path,
    servers: &ServerChoice,
    backend: Option<BackendName>,
    trusted: bool,
) -> Result<(), Failure> {
    let named = named_programs(repro, servers, backend);
    if trusted || named.is_empty() {
        return Ok(());
    }
    let lines: String = named
        .iter()
        .map(|(what, name)| format!("\n  {what}: {}", visible(name)))
        .collect();
    Err(Failure::Usage(inert!(
        "{}: replaying it would start what the file names:{}\nNothing was started. If you trust \
         the file, add --trust",
        file.display(),
        Inert::lines(&lines)
    )))
}

/// Returns what the file would start, with which directory and environment, and the external servers that the run would
/// write to: a description of each kind, and its name.
fn named_programs(
    repro: &Repro,
    servers: &ServerChoice,
    backend: Option<BackendName>,
) -> Vec<(&'static str, String)> {
    // A built-in server name replaces the file's server.
    let replaced = servers.named.is_some();
    let unused = replaced || backend == Some(BackendName::Sim);
    let program = repro.lock.name.strip_prefix(EXEC).map(str::to_owned);
    let contained = repro.lock.name.strip_prefix(DOCKER).map(str::to_owned);
    let directory = repro.lock.directory.clone();
    let environment = repro.lock.environment.iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}"));
    let environment = Some(environment.collect::<Vec<_>>().join(" "));
    let environment = environment.filter(|variables| !variables.is_empty());
    let server = repro.overrides.redis_server.clone();
    let image = repro.overrides.image.clone();
    let server = server.filter(|_| !unused && servers.redis_server.is_none());
    let image = image.filter(|_| !unused && servers.image.is_none());
    let external = repro.overrides.servers.as_ref();
    let external =
        external.filter(|_| backend == Some(BackendName::External) && servers.external.is_none());
    let external = external.map(|table| table.redis.join(" "));
    [
        ("a program", program),
        ("a program in containers of the image", contained),
        ("its directory", directory),
        ("its environment", environment),
        ("a server", server),
        ("a container image", image),
        ("servers that it would write to", external),
    ]
    .into_iter()
    .filter_map(|(what, name)| Some((what, name?)))
    .collect()
}
