//! Number of runs at a time.

use picklock_scenarios::BackendName;

use super::request::MatrixRequest;
use crate::backend_choice::ChosenBackend;

/// As many as the user wants, else what suits the backend: a simulation needs a processor; a run on server
/// processes mostly waits; the start of five containers does not.
pub fn jobs(request: &MatrixRequest, backend: &ChosenBackend) -> usize {
    request.jobs.unwrap_or_else(|| match backend.name() {
        BackendName::Process => 2 * processors(),
        _ => processors(),
    })
}

/// The processors of this machine.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
