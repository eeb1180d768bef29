//! Ctrl-C and SIGTERM: the first ends the run gracefully, the second immediately. The end of standard input counts as a
//! signal if [`END_WITH_STDIN`] is set.

use std::thread;

use picklock_reports::inert;
use tokio::io::AsyncReadExt;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{self, Failure};

/// Environment variable with which a program that starts Picklock asks it to end when standard input is closed. The
/// kernel closes it even if that program is killed.
pub const END_WITH_STDIN: &str = "PICKLOCK_END_WITH_STDIN";

/// The user's request to end the run. All clones share the state.
#[derive(Clone)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Starts listening on a separate thread: the second signal ends the process even while the main thread waits for
    /// something that never comes.
    ///
    /// # Errors
    /// Returns an error if the operating system rejects the thread or the signal handlers.
    pub fn listen() -> Result<Self, Failure> {
        let refused = |error| Failure::Environment(inert!("cannot listen for signals: {}", error));
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.map_err(refused)?;
        let entered = runtime.enter();
        let mut ctrl_c = signal(SignalKind::interrupt()).map_err(refused)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
        drop(entered);
        let (sender, receiver) = watch::channel(false);
        let has_starter = std::env::var_os(END_WITH_STDIN).is_some();
        let listening = async move {
            for count in 0.. {
                tokio::select! {
                    _ = ctrl_c.recv() => {}
                    _ = terminate.recv() => {}
                    () = stdin_closed(), if has_starter && count == 0 => {}
                }
                if count > 0 {
                    // A second interrupt exits immediately; the reaper cleans up afterwards.
                    std::process::exit(i32::from(exit::INTERRUPTED));
                }
                sender.send_replace(true);
            }
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(listening))
            .map_err(refused)?;
        Ok(Interrupt(receiver))
    }

    /// Returns `true` if the user wants the run to end.
    pub fn is_wanted(&self) -> bool {
        *self.0.borrow()
    }

    /// Does some work that the user need not wait for.
    ///
    /// # Errors
    /// Returns the error of the work, or an error if the user interrupted it.
    pub async fn unless_wanted<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            () = self.clone().wanted() => Err(Failure::Interrupted),
            done = work => done,
        }
    }

    /// Resolves when the user interrupts, or immediately if that has already happened.
    pub async fn wanted(mut self) {
        if self.0.wait_for(|wanted| *wanted).await.is_err() {
            // The listener is gone, so no further interrupt can arrive.
            std::future::pending::<()>().await;
        }
    }
}

/// Resolves when standard input is closed. Ignores what it contains.
pub async fn stdin_closed() {
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 256];
    while stdin.read(&mut ignored).await.is_ok_and(|size| size > 0) {}
}
