//! How the nemesis strikes at exactly the frame that it waits for: it sees each frame first, and
//! can make it wait.

use std::future::Future;
use std::pin::Pin;

use picklock_scenarios::{Direction, Phase};

use super::LinkId;
use crate::proxy::command_log::acquire_detection::Acquired;

/// A frame waits until this is ready.
pub type FrameBarrier = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sees each frame that the proxy has received whole, before its first byte goes on.
pub trait Interceptor: Send + Sync {
    /// False when no frame of this worker need be shown. The proxy asks for every chunk that it reads, so the
    /// answer must cost no more than an atomic load.
    fn is_armed(&self, worker: usize) -> bool;

    /// True while it wants to know of replies on this link, in this phase, whether their command took a lock or gave
    /// it back. Asked only while it is armed.
    fn waits_for_effect(&self, _link: LinkId, _phase: Phase) -> bool {
        false
    }

    /// True while it wants to know of frames on this link, in this phase, whether their command names a
    /// lock's key. Asked only while it is armed.
    fn waits_for_key(&self, _link: LinkId, _phase: Phase) -> bool {
        false
    }

    /// A frame is about to go on; with `None` it does. With a gate it waits until the gate is
    /// ready, and with it everything behind it in its direction of its connection. Only then is it
    /// judged by the imposed faults, so that a fault can drop exactly this frame (name
    /// [`InterceptedFrame::conn`] in it).
    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier>;
}

/// A frame on the wire, as an interceptor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterceptedFrame<'a> {
    /// When it came, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// The link that it passes on.
    pub link: LinkId,
    /// Number of the connection; no two of a run share one.
    pub conn: u64,
    /// A command, or a reply.
    pub direction: Direction,
    /// The command in upper case; for a reply, the one that it answers; empty if there is none.
    pub command: &'a str,
    /// A reply that is an error.
    pub is_error: bool,
    /// The lock's key that the command names, by its position in the run's list of keys.
    pub key: Option<u32>,
    /// The attempt that the worker was busy with when the command came.
    pub op: u64,
    /// What the worker had been asked for when the command came.
    pub phase: Phase,
    /// Of a reply: whether its command took a lock or gave it back, if [`Interceptor::waits_for_effect`].
    pub acquired: Acquired,
}

/// Lets every frame go on.
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
