//! Why matrices cannot be compared by server.

use picklock_reports::escape::visible;

/// Why matrices cannot be compared by server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is only one matrix.
    #[error("there is only one matrix: name two or more, each from a different server")]
    OneMatrix,
    /// A matrix ran on several servers.
    #[error(
        "{}: it ran on more than one server: {servers}. Run a matrix for each, with `picklock matrix --server NAME`",
        visible(matrix)
    )]
    SeveralServers {
        /// The path of the matrix.
        matrix: String,
        /// Names of the servers.
        servers: String,
    },
    /// No cell of a matrix records its server.
    #[error(
        "{}: none of its cells names the server on which it ran",
        visible(matrix)
    )]
    NoServer {
        /// The path of the matrix.
        matrix: String,
    },
    /// Two matrices ran on the same server.
    #[error(
        "{} and {}: both ran on {}",
        visible(one),
        visible(other),
        visible(server)
    )]
    SameServer {
        /// Path of the first matrix.
        one: String,
        /// Path of the second matrix.
        other: String,
        /// Name of the server.
        server: String,
    },
    /// A matrix has a cell twice.
    #[error("{}: it has the cell {} twice", visible(matrix), visible(cell))]
    Twice {
        /// The path of the matrix.
        matrix: String,
        /// Description of the cell.
        cell: String,
    },
    /// The matrices have different seeds.
    #[error(
        "{} and {}: their seeds differ. Run both with the same `--seed` and `--seeds`",
        visible(one),
        visible(other)
    )]
    OtherSeeds {
        /// Path of the first matrix.
        one: String,
        /// Path of the second matrix.
        other: String,
    },
    /// The matrices have no cell in common.
    #[error(
        "the matrices have no cell in common: run the same locks and scenarios in the same backend on each server"
    )]
    NothingInCommon,
}
