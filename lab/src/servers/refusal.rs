//! Why matrices cannot be compared by server.

use picklock_reports::escape::visible;

/// Why matrices cannot be compared by server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing to compare with.
    #[error("there is one matrix only: name two or more, each of another server")]
    OneMatrix,
    /// A matrix of several servers.
    #[error(
        "{}: it ran on more than one server: {servers}. Run a matrix for each, with `picklock matrix --server NAME`",
        visible(matrix)
    )]
    SeveralServers {
        /// The path of the matrix.
        matrix: String,
        /// The servers, in words.
        servers: String,
    },
    /// No cell knows its server.
    #[error("{}: none of its cells says on which server it ran", visible(matrix))]
    NoServer {
        /// The path of the matrix.
        matrix: String,
    },
    /// Two matrices of one server.
    #[error(
        "{} and {}: both ran on {}",
        visible(one),
        visible(other),
        visible(server)
    )]
    SameServer {
        /// The path of the first.
        one: String,
        /// The path of the second.
        other: String,
        /// The server, in words.
        server: String,
    },
    /// A cell that occurs twice in a matrix.
    #[error("{}: it has the cell {} twice", visible(matrix), visible(cell))]
    Twice {
        /// The path of the matrix.
        matrix: String,
        /// The cell, in words.
        cell: String,
    },
    /// The runs had other seeds.
    #[error(
        "{} and {}: their seeds differ. Run both with the same `--seed` and `--seeds`",
        visible(one),
        visible(other)
    )]
    OtherSeeds {
        /// The path of the first.
        one: String,
        /// The path of the second.
        other: String,
    },
    /// No cell is in two matrices.
    #[error(
        "the matrices have no cell in common: run the same locks and scenarios in the same backend on each server"
    )]
    NothingInCommon,
}
