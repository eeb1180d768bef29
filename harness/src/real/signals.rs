//! Freezing, thawing and killing processes, with the certainty that it has happened.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

/// How often a child is asked whether it has stopped. The kernel needs microseconds.
const POLL: Duration = Duration::from_micros(200);

fn checked(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Freezes a child of this process, and returns once all of its threads have stopped: the signal
/// alone is only a request.
///
/// # Errors
/// Where it is not our child, or ends instead of stopping.
pub async fn freeze(child: u32) -> io::Result<()> {
    let pid = checked(child)?;
    kill_process(pid, Signal::STOP)?;
    // `NOWAIT` leaves the news for whoever else waits for the child; an end is such news too.
    let options = WaitIdOptions::STOPPED
        | WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options)? {
            Some(status) if status.stopped() => return Ok(()),
            Some(_) => return Err(io::Error::other("it ended instead of stopping")),
            None => tokio::time::sleep(POLL).await,
        }
    }
}

/// Lets a frozen child go on.
///
/// # Errors
/// Where there is no such process.
pub fn thaw(child: u32) -> io::Result<()> {
    Ok(kill_process(checked(child)?, Signal::CONT)?)
}

/// Kills a guarded child and all that it started, frozen or not. That nobody is left to be killed
/// is no error.
///
/// # Errors
/// Where the kernel refuses.
pub fn kill_group(leader: u32) -> io::Result<()> {
    match kill_process_group(checked(leader)?, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}
