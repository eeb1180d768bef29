//! Freezes, thaws and kills processes, and confirms it.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

/// Pause between two checks whether a child has stopped. The kernel needs microseconds.
const POLL: Duration = Duration::from_micros(200);

/// Pause between two rounds: killed processes take a moment to disappear.
const ROUND_PAUSE: Duration = Duration::from_millis(2);

fn checked(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Freezes a child of this process, and returns once all of its threads have stopped: the signal
/// alone is only a request.
///
/// # Errors
/// It is not our child, or ends instead of stopping.
pub async fn freeze(child: u32) -> io::Result<()> {
    let pid = checked(child)?;
    kill_process(pid, Signal::STOP)?;
    // `NOWAIT` keeps the status for other tasks that wait for the child. That includes its end.
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

/// Thaws a frozen child.
///
/// # Errors
/// There is no such process.
pub fn thaw(child: u32) -> io::Result<()> {
    Ok(kill_process(checked(child)?, Signal::CONT)?)
}

/// Kills a child and all its descendants, frozen or not. It is not an error if all of them have
/// ended.
///
/// # Errors
/// The kernel refuses.
pub fn kill_group(leader: u32) -> io::Result<()> {
    match kill_process_group(checked(leader)?, Signal::KILL) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

/// Kills one process, which may have ended in the meantime.
pub(super) fn kill(pid: u32) {
    let _ = checked(pid).map(|pid| kill_process(pid, Signal::KILL));
}

/// Kills what `find` finds until it finds nothing any more, but looks no more than so many times. A process
/// that starts others while it is killed is found again. `None`: there is nothing left.
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
