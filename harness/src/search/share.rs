//! Shares work out to several threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

/// Does all jobs on so many threads, and takes what comes out on this one, in no particular order. Once `stop` is
/// set, no job begins any more.
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
    // Few results wait, so that what is known is not far behind what was done.
    let (tell, told) = mpsc::sync_channel(threads.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let tell = tell.clone();
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                while let Some(job) = next() {
                    if tell.send(work(job)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        told.iter().for_each(&mut take);
    });
}
