//! The end of a worker's clients after SIGTERM: connects the task that requests the end with the task that cleans up.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A request to end one client. All clones share the state.
#[derive(Clone, Default)]
pub struct Termination(Rc<State>);

#[derive(Default)]
struct State {
    requested: Event,
    finished: Event,
}

/// An event that happens once, with one task that waits for it.
#[derive(Default)]
struct Event {
    happened: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Event {
    fn happen(&self) {
        self.happened.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if self.happened.get() {
            return Poll::Ready(());
        }
        let mut known = self.waker.borrow_mut();
        if known
            .as_ref()
            .is_none_or(|waker| !waker.will_wake(context.waker()))
        {
            let before = known.replace(context.waker().clone());
            drop(known);
            // Drop the waker only after the borrow has ended, because dropping it can run arbitrary code.
            drop(before);
        }
        Poll::Pending
    }
}

impl Termination {
    /// Requests the end.
    pub fn request(&self) {
        self.0.requested.happen();
    }

    /// Waits until the end is requested. Cancel-safe.
    pub async fn requested(&self) {
        poll_fn(|context| self.0.requested.poll(context)).await;
    }

    /// Reports that the client has cleaned up.
    pub fn finish(&self) {
        self.0.finished.happen();
    }

    /// Waits until the client has cleaned up. Cancel-safe.
    pub async fn finished(&self) {
        poll_fn(|context| self.0.finished.poll(context)).await;
    }
}
