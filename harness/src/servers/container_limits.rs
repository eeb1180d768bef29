//! What a container of a run may use of the machine.

use testcontainers::bollard::models::HostConfig;

/// Bytes of memory, swap included.
const MEMORY: i64 = 1 << 30;

/// Processes and threads.
const PROCESSES: i64 = 512;

/// Bounds its memory and its processes, and takes all capabilities from it but these.
pub(super) fn confine(config: &mut HostConfig, capabilities: &[&str]) {
    config.memory = Some(MEMORY);
    config.memory_swap = Some(MEMORY);
    config.pids_limit = Some(PROCESSES);
    config.cap_drop = Some(vec!["ALL".to_owned()]);
    let kept = capabilities.iter().map(|name| (*name).to_owned());
    config.cap_add = Some(kept.collect());
    config.security_opt = Some(vec!["no-new-privileges".to_owned()]);
}
