//! The memory of this process and the CPU time of its thread, as the kernel reports them.

use rustix::time::{ClockId, clock_gettime};

/// Returns the resident memory in KiB.
pub fn now_kib() -> u64 {
    status_kib("VmRSS:")
}

/// Returns the maximum resident memory since the last reset, in KiB.
pub fn highest_kib() -> u64 {
    status_kib("VmHWM:")
}

/// Resets the maximum to the resident memory, and returns it in KiB.
pub fn reset_highest_kib() -> u64 {
    // proc(5): writing 5 resets the peak resident set size.
    std::fs::write("/proc/self/clear_refs", "5").expect("the kernel keeps a peak");
    now_kib()
}

fn status_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a /proc");
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("the kernel reports it in KiB")
}

/// Returns the CPU time of this thread in seconds.
pub fn now_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
