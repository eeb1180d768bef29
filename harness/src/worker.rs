//! The worker process of a lock whose code is in the same binary. It serves the adapter protocol
//! and connects the lock to real servers.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_impls::{Canceller, Context, DynLock, WallClock};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};

use crate::adapter::connect::connect;
use crate::adapter::message::Init;
use crate::adapter::serve::{ServeError, serve};
use crate::lock_factory::LockFactory;
use crate::{clock, rng};

struct MachineClock;

impl WallClock for MachineClock {
    fn since_epoch(&self) -> Duration {
        clock::wall_clock()
    }
}

/// Serves one client of the lock until the input ends. `complain` receives messages about unanswerable input for the
/// worker's log. The caller must run the future in a `tokio::task::LocalSet`.
///
/// The future is boxed, so that its code is compiled in this crate and not again in the caller's.
///
/// # Errors
/// Returns an error if reading or writing a stream fails, or if SIGTERM ended the worker.
pub fn serve_lock<'a>(
    lock: &'a LockFactory,
    reader: &'a mut (dyn AsyncBufRead + Unpin),
    writer: &'a mut (dyn AsyncWrite + Unpin),
    complain: &'a mut dyn FnMut(&str),
) -> LocalBoxFuture<'a, Result<(), ServeError>> {
    let build = move |init, canceller| async move { client(lock, init, canceller) };
    Box::pin(serve(reader, writer, build, complain, terminated()))
}

/// Waits for SIGTERM.
async fn terminated() {
    let received = match signal(SignalKind::terminate()) {
        Ok(mut signals) => signals.recv().await,
        // In that case SIGTERM ends the process without a clean-up.
        Err(_) => None,
    };
    if received.is_none() {
        std::future::pending::<()>().await;
    }
}

fn client(
    lock: &LockFactory,
    init: Init,
    canceller: Canceller,
) -> Result<Box<dyn DynLock>, String> {
    let options = lock
        .read_options(&init.options)
        .map_err(|error| format!("option {}: {error}", error.name()))?;
    let nodes = connect(&init.nodes, init.timeout()).map_err(|error| error.to_string())?;
    let context = Context {
        wall_clock: Rc::new(MachineClock),
        rng: rng::stream(init.seed, "lock", 0),
        options,
        capacity: init.capacity(),
        canceller,
    };
    Ok(lock.client(nodes, context))
}
