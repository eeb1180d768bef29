//! The names of the worlds: the only place where they are written as words.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A world, by the name that `--backend` takes. Sorted as the words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorldName {
    /// Containers.
    Docker,
    /// `redis-server` processes of this machine.
    Process,
    /// The simulation, in virtual time.
    Sim,
}

/// No world has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown world `{name}`; expected one of {}", WorldName::list())]
pub struct UnknownWorld {
    /// The name that was given.
    pub name: String,
}

impl WorldName {
    /// Every world.
    pub const ALL: [WorldName; 3] = [WorldName::Sim, WorldName::Process, WorldName::Docker];

    /// The word that scenario files, records and the command line use.
    pub const fn word(self) -> &'static str {
        match self {
            WorldName::Sim => "sim",
            WorldName::Process => "process",
            WorldName::Docker => "docker",
        }
    }

    /// True for worlds of real Redis servers, which run in real time.
    pub fn is_real(self) -> bool {
        self != WorldName::Sim
    }

    fn list() -> String {
        WorldName::ALL.map(|world| format!("`{world}`")).join(", ")
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for WorldName {
    type Err = UnknownWorld;

    fn from_str(name: &str) -> Result<Self, UnknownWorld> {
        let mut all = WorldName::ALL.into_iter();
        all.find(|world| world.word() == name)
            .ok_or_else(|| UnknownWorld {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_and_others_are_refused_with_the_list() {
        for world in WorldName::ALL {
            assert_eq!(world.word().parse(), Ok(world));
        }
        let error = "simulation".parse::<WorldName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown world `simulation`; expected one of `sim`, `process`, `docker`"
        );
    }
}
