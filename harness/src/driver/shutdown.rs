//! The end of a run: in order, but an interrupt bounds how long it may take.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::FusedFuture;
use tokio::time::{Sleep, sleep};

/// How long an end goes on in order after an interrupt. A run has two of them, the driver's and its
/// backend's, and its user wants an answer within a second.
const PATIENCE: Duration = Duration::from_millis(300);

/// Makes the steps of an end. After an interrupt they get [`PATIENCE`] together, and are cancelled then.
pub struct Shutdown<'a, I> {
    interrupt: Pin<&'a mut I>,
    /// What is left of the patience, once an interrupt has come.
    patience: Option<Pin<Box<Sleep>>>,
}

impl<'a, I: FusedFuture<Output = ()>> Shutdown<'a, I> {
    /// The end begins. The interrupt may have come already.
    pub fn begin(interrupt: Pin<&'a mut I>) -> Self {
        let patience = interrupt.is_terminated().then(patience);
        Shutdown {
            interrupt,
            patience,
        }
    }

    /// True if an interrupt has come.
    pub fn is_interrupted(&self) -> bool {
        self.patience.is_some()
    }

    /// Makes a step that an interrupt cancels at once; `None`: one has come.
    pub async fn until_interrupted<F: Future>(&mut self, step: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = step => Some(output),
            () = self.interrupt() => None,
        }
    }

    /// Makes a step to its end; `None`: it was cancelled, because an interrupt came and it took too long.
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

    /// Waits for an interrupt, if none has come.
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
    const MOMENT: Duration = Duration::from_millis(5);

    #[tokio::test(start_paused = true)]
    async fn without_an_interrupt_a_step_takes_as_long_as_it_needs() {
        let mut interrupt = pin!(pending().fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        assert_eq!(end.step(sleep(LONG)).await, Some(()));
        assert!(!end.is_interrupted());
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_interrupt_all_steps_together_get_the_same_time() {
        let mut interrupt = pin!(ready(()).fuse());
        interrupt.as_mut().await;
        let mut end = Shutdown::begin(interrupt.as_mut());
        let most = PATIENCE * 2 / 3;
        assert_eq!(end.step(sleep(most)).await, Some(()));
        let rest = PATIENCE - most;
        let cut = timeout(rest + MOMENT, end.step(sleep(most))).await;
        assert_eq!(cut, Ok(None));
        assert_eq!(end.step(ready(7)).await, Some(7), "it takes no time");
        assert_eq!(timeout(MOMENT, end.step(sleep(most))).await, Ok(None));
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_cancels_at_once_what_nobody_waits_for() {
        let mut interrupt = pin!(ready(()).fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        assert_eq!(end.until_interrupted(ready(7)).await, Some(7));
        let cut = timeout(MOMENT, end.until_interrupted(sleep(LONG))).await;
        assert_eq!((cut, end.is_interrupted()), (Ok(None), true));
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_in_the_middle_of_a_step_bounds_it() {
        let (interrupts, interrupted) = oneshot::channel::<()>();
        let mut interrupt = pin!(interrupted.map(drop).fuse());
        let mut end = Shutdown::begin(interrupt.as_mut());
        let before = Duration::from_secs(60);
        let interrupting = async {
            sleep(before).await;
            interrupts.send(()).unwrap();
        };
        let both = async { tokio::join!(end.step(sleep(LONG)), interrupting) };
        let (cut, ()) = timeout(before + PATIENCE + MOMENT, both).await.unwrap();
        assert_eq!(cut, None);
    }
}
