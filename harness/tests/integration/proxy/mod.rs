//! The proxy between real sockets: unchanged frames, the effect of each fault, and barriers.

mod acquire_detection;
mod client;
mod cluster;
mod effects;
mod ends;
mod freeze_monitor;
mod gates;
mod node;
mod sentinels;
mod transparent;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use picklock_harness::clock::Clock;
use picklock_harness::proxy::{
    FrameBarrier, InterceptedFrame, Interceptor, LinkId, NoInterceptor, Proxy,
};

/// The name of the lock that the tests take.
const KEY: &str = "lock:1";

/// The only link of most tests.
const LINK: LinkId = LinkId { worker: 0, node: 0 };

/// Panics if `work` takes too long, so that the test does not hang.
async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen in time"))
}

fn proxy() -> Proxy {
    intercepted(NoInterceptor)
}

fn intercepted(interceptor: impl Interceptor + 'static) -> Proxy {
    let keys = vec![KEY.to_owned(), "lock:12".to_owned()];
    Proxy::new(Clock::start(), keys, 7, Arc::new(interceptor))
}

/// An interceptor that is a closure.
struct Intercepting<F>(F);

impl<F: Fn(&InterceptedFrame<'_>) -> Option<FrameBarrier> + Send + Sync> Interceptor
    for Intercepting<F>
{
    fn is_armed(&self, _: usize) -> bool {
        true
    }

    fn intercept(&self, frame: &InterceptedFrame<'_>) -> Option<FrameBarrier> {
        (self.0)(frame)
    }
}
