//! Freezes, thaws and kills processes, and confirms the effect.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

/// Pause between two checks whether a child has stopped. The kernel needs microseconds.
const POLL: Duration = Duration::from_micros(200);

/// Pause between two rounds of killing, because killed processes do not disappear at once.
const ROUND_PAUSE: Duration = Duration::from_millis(2);

fn checked(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Freezes a child of this process. Returns once all of its threads have stopped, because the signal alone is only a
/// request.
///
/// # Errors
/// Returns an error if the process is not a child of this process, or exits instead of stopping.
pub async fn freeze(child: u32) -> io::Result<()> {
    let pid = checked(child)?;
    kill_process(pid, Signal::STOP)?;
    // `NOWAIT` preserves the status, including an exit, for other tasks that wait for the child.
    let options = WaitIdOptions::STOPPED
        | WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options)? {
            Some(status) if status.stopped() => return Ok(()),
            Some(_) => return Err(io::Error::other("the process exited instead of stopping")),
            None => tokio::time::sleep(POLL).await,
        }
    }
}

/// Thaws a frozen child.
///
/// # Errors
/// Returns an error if there is no such process.
pub fn thaw(child: u32) -> io::Result<()> {
    Ok(kill_process(checked(child)?, Signal::CONT)?)
}

/// Kills a child and all members of its group, frozen or not. It is not an error if all of them have exited.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn kill_group(leader: u32) -> io::Result<()> {
    match kill_process_group(checked(leader)?, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

/// Kills one process, which may have exited in the meantime.
pub(super) fn kill(pid: u32) {
    let _ = checked(pid).map(|pid| kill_process(pid, Signal::KILL));
}

/// Kills the processes that `find` returns until it returns `None`, but at most `rounds` times. Repeated rounds are
/// needed, because a process may start others while it is killed.
pub(super) async fn kill_until_none(
    rounds: usize,
    mut find: impl AsyncFnMut() -> Option<Vec<u32>>,
) {
    for _ in 0..rounds {
        let Some(found) = find().await else { return };
        found.into_iter().for_each(kill);
        tokio::time::sleep(ROUND_PAUSE).await;
    }
}
