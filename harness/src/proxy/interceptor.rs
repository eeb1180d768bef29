//! Lets the nemesis affect exactly the frame that it waits for: the nemesis gets each frame before it is forwarded, and
//! can make it wait.

use std::future::Future;
use std::pin::Pin;

use picklock_scenarios::{Direction, Phase};

use super::LinkId;
use crate::proxy::command_log::acquire_detection::LockEffect;

/// A future that must complete before a frame is forwarded.
pub type FrameBarrier = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Receives each complete frame before the proxy forwards the frame's first byte.
pub trait Interceptor: Send + Sync {
    /// Returns `false` if no frame of this worker needs to be shown. The proxy calls this for every chunk that it
    /// reads, so it must not cost more than an atomic load.
    fn is_armed(&self, worker: usize) -> bool;

    /// Returns `true` if replies on this link, in this phase, must show whether their command took or released a lock.
    /// Called only while the interceptor is armed.
    fn waits_for_effect(&self, _link: LinkId, _phase: Phase) -> bool {
        false
    }

    /// Returns `true` if frames on this link, in this phase, must show which lock's key their command names. Called
    /// only while the interceptor is armed.
    fn waits_for_key(&self, _link: LinkId, _phase: Phase) -> bool {
        false
    }

    /// Called when a frame is about to be forwarded. If this returns a barrier, the frame waits for it, and so do all
    /// later bytes in the same direction of the connection. The fault rules apply only after the barrier, so a fault
    /// that names [`InterceptedFrame::conn`] can drop exactly this frame.
    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier>;
}

/// The data about a frame that an interceptor receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterceptedFrame<'a> {
    /// When the frame arrived, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// The frame's link.
    pub link: LinkId,
    /// Number of the connection, unique within a run.
    pub conn: u64,
    /// Whether the frame is a command or a reply.
    pub direction: Direction,
    /// The command in upper case. For a reply, the command that it answers. Empty if there is no command.
    pub command: &'a str,
    /// Whether the frame is an error reply.
    pub is_error: bool,
    /// The lock's key that the command names, as an index into the run's list of keys, or `None` if that is unknown.
    pub key: Option<u32>,
    /// The attempt in progress when the command arrived.
    pub op: u64,
    /// The phase of that attempt.
    pub phase: Phase,
    /// For a reply, whether its command took or released a lock. Only determined if [`Interceptor::waits_for_effect`]
    /// returns `true`.
    pub lock_effect: LockEffect,
}

/// Lets every frame pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterceptor;

impl Interceptor for NoInterceptor {
    fn is_armed(&self, _: usize) -> bool {
        false
    }

    fn intercept(&self, _: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        None
    }
}
