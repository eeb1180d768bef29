//! Orphans come to this process.
//!
//! Where a worker starts a process and ends, or starts it in the way of a daemon, that process gets
//! another parent: the nearest ancestor that is a *subreaper*, else the first process of the
//! machine. As a subreaper, this process keeps the descendants of its workers below itself, and can
//! reap them when it has killed them. Which worker they belong to is told by their mark.

/// Makes this process the parent of the orphans below it. If the kernel refuses, they go to the
/// first process, and are found by their mark all the same.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}
