//! The adapter protocol, from both ends: the driver's and the built-in worker's.

pub mod message;

/// stub
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// a
    Said(message::Said),
    /// b
    Garbage(String),
    /// c
    Exited(String),
}
