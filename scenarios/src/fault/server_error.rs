//! The errors with which a server refuses commands while something is wrong with it.

use serde::{Deserialize, Serialize};

use crate::string_enum::words;

words! {
    /// An error by its first word, as servers write it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    ServerError {
        /// It is a replica, and must not be written to.
        Readonly = "READONLY",
        /// It is reading its data set from disk.
        Loading = "LOADING",
        /// It cannot write to disk, and refuses what it could not keep.
        Misconf = "MISCONF",
        /// It is part of a cluster that does not serve.
        Clusterdown = "CLUSTERDOWN",
        /// It has fewer replicas in reach than it must have for a write.
        Noreplicas = "NOREPLICAS",
        /// A script has been running for long.
        Busy = "BUSY",
    }
}

impl ServerError {
    /// The whole error, as Redis 7 writes it.
    pub fn text(self) -> &'static str {
        match self {
            ServerError::Readonly => "READONLY You can't write against a read only replica.",
            ServerError::Loading => "LOADING Redis is loading the dataset in memory",
            ServerError::Misconf => {
                "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
            }
            ServerError::Clusterdown => "CLUSTERDOWN The cluster is down",
            ServerError::Noreplicas => "NOREPLICAS Not enough good replicas to write.",
            ServerError::Busy => {
                "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_written_by_its_first_word() {
        for error in ServerError::ALL {
            let written = toml::Value::try_from(error).unwrap();
            assert_eq!(written.as_str(), Some(error.as_str()));
            assert_eq!(error.text().split(' ').next(), Some(error.as_str()));
        }
    }
}
