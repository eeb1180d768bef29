//! How much memory this process has, by the kernel's word.

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
