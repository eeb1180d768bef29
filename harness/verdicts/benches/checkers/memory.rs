//! How much memory this process has, and how much processor time its thread has used, by the kernel's word.

use rustix::time::{ClockId, clock_gettime};

/// Resident now, KiB.
pub fn now_kib() -> u64 {
    status_kib("VmRSS:")
}

/// The most that was ever resident since the last reset, KiB.
pub fn highest_kib() -> u64 {
    status_kib("VmHWM:")
}

/// Sets the highest back to what is resident now, and returns that, KiB.
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
        .expect("the kernel tells it in KiB")
}

/// Seconds of processor time that this thread has used.
pub fn now_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
