//! A worker process of a lock whose code is in it: the lock at one end of the adapter protocol,
//! connections to real servers at the other.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_impls::{Canceller, Context, DynLock, WallClock};
use tokio::io::{AsyncBufRead, AsyncWrite};

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

/// Serves one client of the lock until the input ends. `complain` receives messages about what
/// cannot be answered. They belong in the worker's log. Needs a `tokio::task::LocalSet` around the
/// call.
///
/// The future is boxed: so what it does is compiled here, and not once more for its caller.
///
/// # Errors
/// One of the streams broke.
pub fn serve_lock<'a>(
    lock: &'a LockFactory,
    reader: &'a mut (dyn AsyncBufRead + Unpin),
    writer: &'a mut (dyn AsyncWrite + Unpin),
    complain: &'a mut dyn FnMut(&str),
) -> LocalBoxFuture<'a, Result<(), ServeError>> {
    let build = move |init, canceller| async move { client(lock, init, canceller) };
    Box::pin(serve(reader, writer, build, complain))
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
        canceller,
    };
    Ok(lock.client(nodes, context))
}
