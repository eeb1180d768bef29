//! The orderly end of a run, with a time limit after an interrupt.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::FusedFuture;
use tokio::time::{Sleep, sleep};

/// How long an orderly end may continue after an interrupt. A run has two such ends, of the driver and of the backend,
/// and users expect the program to exit within a second.
const PATIENCE: Duration = Duration::from_millis(300);

/// Runs the steps of an orderly end. After an interrupt, all remaining steps together get [`PATIENCE`], and are then
/// cancelled.
pub struct Shutdown<'a, I> {
    interrupt: Pin<&'a mut I>,
    /// The timer for the remaining patience, or `None` before an interrupt.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<'a, I: FusedFuture<Output = ()>> Shutdown<'a, I> {
    /// Begins the end. The interrupt may have arrived already.
    pub fn begin(interrupt: Pin<&'a mut I>) -> Self {
        let patience = interrupt.is_terminated().then(patience);
        Shutdown {
            interrupt,
            patience,
        }
    }

    /// Returns `true` if an interrupt has arrived.
    pub fn is_interrupted(&self) -> bool {
        self.patience.is_some()
    }

    /// Runs a step that an interrupt cancels immediately. Returns `None` if it was cancelled.
    pub async fn until_interrupted<F: Future>(&mut self, step: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = step => Some(output),
            () = self.interrupt() => None,
        }
    }

    /// Runs a step. Returns `None` if an interrupt arrived and the patience ended before the step.
    pub async fn step<F: Future>(&mut self, step: F) -> Option<F::Output> {
        let mut step = pin!(step);
        tokio::select! {
            biased;
            output = &mut step => return Some(output),
            () = self.interrupt() => {}
        }
        let patience = self.patience.get_or_insert_with(patience);
        tokio::select! {
            biased;
            output = step => Some(output),
            () = patience => None,
        }
    }

    /// Waits for an interrupt, if none has arrived.
    async fn interrupt(&mut self) {
        if self.patience.is_none() {
            self.interrupt.as_mut().await;
            self.patience = Some(patience());
        }
    }
}

fn patience() -> Pin<Box<Sleep>> {
    Box::pin(sleep(PATIENCE))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);
    const TOLERANCE: Duration = Duration::from_millis(5);

    #[tokio::test(start_paused = true)]
    async fn step_without_interrupt_has_no_time_limit() {
        let mut interrupt = pin!(pending().fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        assert_eq!(end.step(sleep(LONG)).await, Some(()));
        assert!(!end.is_interrupted());
    }

    #[tokio::test(start_paused = true)]
    async fn steps_after_an_interrupt_share_the_patience() {
        let mut interrupt = pin!(ready(()).fuse());
        interrupt.as_mut().await;
        let mut end = Shutdown::begin(interrupt.as_mut());
        let most_of_it = PATIENCE * 2 / 3;
        assert_eq!(end.step(sleep(most_of_it)).await, Some(()));
        let rest = PATIENCE - most_of_it;
        let cut = timeout(rest + TOLERANCE, end.step(sleep(most_of_it))).await;
        assert_eq!(cut, Ok(None));
        assert_eq!(end.step(ready(7)).await, Some(7), "a step without a wait");
        assert_eq!(
            timeout(TOLERANCE, end.step(sleep(most_of_it))).await,
            Ok(None)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn interrupt_cancels_optional_step_immediately() {
        let mut interrupt = pin!(ready(()).fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        assert_eq!(end.until_interrupted(ready(7)).await, Some(7));
        let cut = timeout(TOLERANCE, end.until_interrupted(sleep(LONG))).await;
        assert_eq!((cut, end.is_interrupted()), (Ok(None), true));
    }

    #[tokio::test(start_paused = true)]
    async fn interrupt_during_a_step_limits_it() {
        let (interrupts, interrupted) = oneshot::channel::<()>();
        let mut interrupt = pin!(interrupted.map(drop).fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        let before = Duration::from_secs(60);
        let interrupting = async {
            sleep(before).await;
            interrupts.send(()).unwrap();
        };
        let both = async { tokio::join!(end.step(sleep(LONG)), interrupting) };
        let (cut, ()) = timeout(before + PATIENCE + TOLERANCE, both).await.unwrap();
        assert_eq!(cut, None);
    }
}
