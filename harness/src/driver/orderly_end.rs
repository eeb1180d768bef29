//! The end of a run: in order, but an interrupt bounds how long it may take.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::FusedFuture;
use tokio::time::{Instant, sleep_until};

/// How long an end goes on in order after an interrupt. A run has two of them, the driver's and its
/// world's, and its user wants an answer within a second.
const PATIENCE: Duration = Duration::from_millis(300);

/// Makes the steps of an end. After an interrupt they get [`PATIENCE`] together, and are cancelled then.
pub struct OrderlyEnd<'a, I> {
    interrupt: Pin<&'a mut I>,
    until: Option<Instant>,
}

impl<'a, I: FusedFuture<Output = ()>> OrderlyEnd<'a, I> {
    /// The end begins. The interrupt may have come already.
    pub fn begin(interrupt: Pin<&'a mut I>) -> Self {
        let until = interrupt.is_terminated().then(deadline);
        OrderlyEnd { interrupt, until }
    }

    /// True if an interrupt has come.
    pub fn is_interrupted(&self) -> bool {
        self.until.is_some()
    }

    /// Makes a step that an interrupt cancels at once; `None`: one has come.
    pub async fn until_interrupted<F: Future>(&mut self, step: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = step => Some(output),
            () = self.interrupt.as_mut(), if self.until.is_none() => {
                self.until = Some(deadline());
                None
            }
        }
    }

    /// Makes a step to its end; `None`: it was cancelled, because an interrupt came and it took too long.
    pub async fn step<F: Future>(&mut self, step: F) -> Option<F::Output> {
        let mut step = pin!(step);
        loop {
            let until = self.until;
            let passed = async move {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                output = &mut step => return Some(output),
                () = passed => return None,
                () = self.interrupt.as_mut(), if until.is_none() => self.until = Some(deadline()),
            }
        }
    }
}

fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn without_an_interrupt_a_step_takes_as_long_as_it_needs() {
        let mut interrupt = pin!(pending().fuse());
        let mut end = OrderlyEnd::begin(interrupt.as_mut());
        assert_eq!(end.step(tokio::time::sleep(LONG)).await, Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_interrupt_all_steps_together_get_the_same_time() {
        let mut interrupt = pin!(ready(()).fuse());
        interrupt.as_mut().await;
        let begun = Instant::now();
        let mut end = OrderlyEnd::begin(interrupt.as_mut());
        let most = PATIENCE * 2 / 3;
        assert_eq!(end.step(tokio::time::sleep(most)).await, Some(()));
        assert_eq!(end.step(tokio::time::sleep(most)).await, None);
        assert_eq!(end.step(ready(7)).await, Some(7), "it takes no time");
        assert!(begun.elapsed() < PATIENCE + Duration::from_millis(5));
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_cancels_what_nobody_waits_for() {
        let mut interrupt = pin!(ready(()).fuse());
        let begun = Instant::now();
        let mut end = OrderlyEnd::begin(interrupt.as_mut());
        assert_eq!(end.until_interrupted(ready(7)).await, Some(7));
        let cut = end.until_interrupted(tokio::time::sleep(LONG)).await;
        assert_eq!((cut, end.is_interrupted()), (None, true));
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupt_in_the_middle_of_a_step_bounds_it() {
        let (interrupts, interrupted) = oneshot::channel::<()>();
        let mut interrupt = pin!(interrupted.map(drop).fuse());
        let begun = Instant::now();
        let mut end = OrderlyEnd::begin(interrupt.as_mut());
        let before = Duration::from_secs(60);
        let interrupting = async {
            tokio::time::sleep(before).await;
            interrupts.send(()).unwrap();
        };
        let (cut, ()) = tokio::join!(end.step(tokio::time::sleep(LONG)), interrupting);
        assert_eq!(cut, None);
        let took = begun.elapsed();
        assert!(took >= before + PATIENCE && took < before + PATIENCE * 2);
    }
}
