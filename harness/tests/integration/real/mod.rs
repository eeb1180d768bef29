//! The server backends, with a real `redis-server` and a real container engine, which are required. The image comes
//! from a registry, or from `scripts/redis-image`.

mod ask;
mod clocks;
mod data;
mod detection;
mod docker;
mod errors;
mod exclusive;
mod orphans;
mod process;
mod python;
mod reexecution;
mod sentinels;
