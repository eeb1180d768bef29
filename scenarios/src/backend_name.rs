//! The names of the backends, defined only here.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::string_enum::impl_named;

/// A backend, named as in `--backend`. Ordered alphabetically by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendName {
    /// Containers.
    Docker,
    /// Servers that are already running.
    External,
    /// `redis-server` processes on this machine.
    Process,
    /// The simulation, in virtual time.
    Sim,
}

/// The error for an unknown backend name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend `{0}`; expected one of {list}", list = BackendName::list())]
pub struct UnknownBackend(String);

impl BackendName {
    /// Every backend.
    pub const ALL: [BackendName; 4] = [
        BackendName::Sim,
        BackendName::Process,
        BackendName::Docker,
        BackendName::External,
    ];

    /// Returns the name that scenario files, records and the command line use.
    pub const fn as_str(self) -> &'static str {
        match self {
            BackendName::Sim => "sim",
            BackendName::Process => "process",
            BackendName::Docker => "docker",
            BackendName::External => "external",
        }
    }

    fn list() -> String {
        BackendName::ALL
            .map(|backend| format!("`{backend}`"))
            .join(", ")
    }
}

impl_named!(BackendName);

impl FromStr for BackendName {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        BackendName::named(name).ok_or_else(|| UnknownBackend(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_parses_back_and_unknown_name_lists_all_names() {
        for backend in BackendName::ALL {
            assert_eq!(backend.as_str().parse(), Ok(backend));
        }
        let error = "simulation".parse::<BackendName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown backend `simulation`; expected one of `sim`, `process`, `docker`, `external`"
        );
    }
}
