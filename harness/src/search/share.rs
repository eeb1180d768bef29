//! Distributes work over several threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

/// Runs all jobs on `threads` threads, and passes the results to `take` on this thread, in no
/// particular order. Once `stop` is set, no further job starts.
pub(super) fn share<J: Send, T: Send>(
    jobs: impl Iterator<Item = J> + Send,
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(J) -> T + Sync,
    mut take: impl FnMut(T),
) {
    let jobs = Mutex::new(jobs);
    let next = || {
        let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.next().filter(|_| !stop.load(Ordering::Relaxed))
    };
    // The channel is short, so that the reported progress is current.
    let (sender, receiver) = mpsc::sync_channel(threads.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let sender = sender.clone();
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                while let Some(job) = next() {
                    if sender.send(work(job)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.iter().for_each(&mut take);
    });
}
