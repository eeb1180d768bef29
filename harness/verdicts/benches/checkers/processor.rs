//! Processor time of this thread: what else the machine has to do does not count.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that this thread has used.
pub fn now_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
