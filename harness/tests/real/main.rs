//! The real worlds, with a real `redis-server` and a real container engine. Both must be there;
//! the image comes from a registry, or from `scripts/redis-image`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's helper functions are tests too, and the doomed run speaks to its test"
)]

mod ask;
mod clocks;
mod data;
mod detection;
mod docker;
mod errors;
mod orphans;
mod process;
mod reexecution;
mod sentinels;
