//! The names of the backends: the only place where they are written as words.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::string_enum::known_by_word;

/// A backend, by the name that `--backend` takes. Sorted as the words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendName {
    /// Containers.
    Docker,
    /// Servers that somebody else has started.
    External,
    /// `redis-server` processes of this machine.
    Process,
    /// The simulation, in virtual time.
    Sim,
}

/// No backend has this name.
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

    /// The word that scenario files, records and the command line use.
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

known_by_word!(BackendName);

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
    fn every_word_reads_back_and_others_are_refused_with_the_list() {
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
