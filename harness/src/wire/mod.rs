//! stub until the wire lands
#![allow(missing_docs)]
use picklock_scenarios::{Direction, Phase};
use std::{future::Future, pin::Pin, time::Duration};
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    pub worker: usize,
    pub node: usize,
}
pub type Gate = Pin<Box<dyn Future<Output = ()> + Send>>;
pub struct Sight<'a> {
    pub at_ns: u64,
    pub link: LinkId,
    pub conn: u64,
    pub direction: Direction,
    pub command: &'a str,
    pub key: Option<u32>,
    pub op: u64,
    pub phase: Phase,
}
pub trait Watcher: Send + Sync {
    fn armed(&self) -> bool;
    fn sight(&self, sight: &Sight<'_>) -> Option<Gate>;
}
#[derive(Debug, Clone)]
pub enum Effect {
    Delay { by: Duration, jitter: Duration },
    Drop,
    Hold,
    Partition,
}
#[derive(Debug, Clone)]
pub struct LinkFault {
    pub workers: Option<Vec<usize>>,
    pub nodes: Option<Vec<usize>>,
    pub direction: Option<Direction>,
    pub effect: Effect,
    pub frames: Option<u32>,
}
#[derive(Debug, Clone, Copy)]
pub struct ImposedId(pub u64);
