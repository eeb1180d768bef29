//! The adapter protocol, from both ends: the driver's and the built-in worker's.

pub mod message;
