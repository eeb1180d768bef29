//! Ctrl-C and SIGTERM: the first ends the run in order, the second at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit;

/// Whether the user wants the run to end. All clones agree.
#[derive(Clone)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Begins to listen. Must be called inside the runtime.
    ///
    /// # Errors
    /// The operating system does not let us.
    pub fn listen() -> std::io::Result<Self> {
        let mut ctrl_c = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (tell, told) = watch::channel(false);
        tokio::task::spawn_local(async move {
            for count in 0.. {
                tokio::select! {
                    _ = ctrl_c.recv() => {}
                    _ = terminate.recv() => {}
                }
                if count > 0 {
                    // A user who asks twice does not want to wait; the reaper cleans up after us.
                    std::process::exit(i32::from(exit::INTERRUPTED));
                }
                tell.send_replace(true);
            }
        });
        Ok(Interrupt(told))
    }

    /// True once the user wants it to end.
    pub fn is_wanted(&self) -> bool {
        *self.0.borrow()
    }

    /// Ready when the user wants it to end; at once if that was before.
    pub async fn wanted(mut self) {
        if self.0.wait_for(|wanted| *wanted).await.is_err() {
            // The listener is gone, so no interrupt can come.
            std::future::pending::<()>().await;
        }
    }
}
