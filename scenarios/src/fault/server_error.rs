//! The errors with which a server in trouble refuses commands.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;

string_enum! {
    /// An error, named by its first word as servers write it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    ServerError {
        /// The server is a replica, and must not be written to.
        Readonly = "READONLY",
        /// The server is loading its data set from disk.
        Loading = "LOADING",
        /// The server cannot write to disk, and refuses writes that it could not keep.
        Misconf = "MISCONF",
        /// The server is part of a cluster that is down.
        Clusterdown = "CLUSTERDOWN",
        /// The server can reach fewer replicas than it needs for a write.
        Noreplicas = "NOREPLICAS",
        /// A script has been running for too long.
        Busy = "BUSY",
    }
}

impl ServerError {
    /// Returns the complete error message of Redis 7.
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
    fn every_error_is_serialized_as_its_first_word() {
        for error in ServerError::ALL {
            let written = toml::Value::try_from(error).unwrap();
            assert_eq!(written.as_str(), Some(error.as_str()));
            assert_eq!(error.text().split(' ').next(), Some(error.as_str()));
        }
    }
}
