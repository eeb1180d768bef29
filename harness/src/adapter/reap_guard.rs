//! A worker's child process and its descendants, under one lock for signals and for reaping.

use std::collections::BTreeSet;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use tokio::process::Child;

use super::exit::Exit;
use super::process_group::{self, Condition};
use crate::process_stat::{Lineage, Member, ProcessStat, ProcessTable, is_held, is_stopped};

/// The child, under one lock for signals and for reaping. After a process is reaped, its PID may belong to an
/// unrelated process, which must never be signalled.
pub(super) struct ReapGuard {
    child: Child,
    pid: Pid,
    reaped: bool,
    lineage: Lineage,
    /// Whether processes that the child leaves behind in its group stay alive after its end.
    spares_group: bool,
    /// Whether all members of the lineage were seen to be dead.
    is_extinct: bool,
}

pub(super) enum SignalOutcome {
    Delivered,
    AlreadyDead,
}

impl ReapGuard {
    /// Guards a child that leads a process group. Its descendants carry `mark` in their environment.
    pub(super) fn new(child: Child, mark: String) -> io::Result<Self> {
        let number = child.id();
        let pid = number.and_then(|id| Pid::from_raw(id.cast_signed()));
        let (Some(number), Some(pid)) = (number, pid) else {
            return Err(io::Error::other("the child has no PID"));
        };
        // Without `/proc`, only the members of the process group are known.
        let started_ticks = ProcessStat::for_process(number).map_or(0, |stat| stat.started_ticks);
        let mut lineage = Lineage::marked(mark, started_ticks);
        lineage.begins_with(number, started_ticks);
        Ok(ReapGuard {
            child,
            pid,
            reaped: false,
            lineage,
            spares_group: false,
            is_extinct: false,
        })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn mark(&self) -> &str {
        self.lineage.mark()
    }

    /// Returns the minimum start time of the descendants, in clock ticks since boot.
    pub(super) fn since_ticks(&self) -> u64 {
        self.lineage.since_ticks()
    }

    /// Keeps alive the processes that the child leaves behind in its group, so that they can be inspected.
    #[cfg(feature = "servers")]
    pub(super) fn spare_group(&mut self) {
        self.spares_group = true;
    }

    /// Returns the child and its descendants that are alive in this table.
    pub(super) fn members(&mut self, table: &ProcessTable) -> BTreeSet<Member> {
        self.lineage.members(table)
    }

    /// Returns `true` if this process is the child or one of its descendants.
    pub(super) fn has(&mut self, table: &ProcessTable, pid: u32) -> bool {
        self.members(table).iter().any(|(member, _)| *member == pid)
    }

    /// Signals the process group, unless the child is dead.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<SignalOutcome> {
        if self.condition()? == Condition::Dead {
            return Ok(SignalOutcome::AlreadyDead);
        }
        process_group::signal(self.pid, signal)?;
        Ok(SignalOutcome::Delivered)
    }

    /// Returns the state of the child itself.
    pub(super) fn condition(&self) -> io::Result<Condition> {
        if self.reaped {
            return Ok(Condition::Dead);
        }
        process_group::condition(self.pid)
    }

    /// Signals the child and all descendants that are alive in this table, and returns them.
    pub(super) fn signal_all(
        &mut self,
        table: &ProcessTable,
        signal: Signal,
    ) -> io::Result<BTreeSet<Member>> {
        let members = self.lineage.members(table);
        for (pid, _) in &members {
            process_group::signal_one(*pid, signal)?;
        }
        Ok(members)
    }

    /// Stops the members that are still running in this table. Returns all members if none of them was running,
    /// otherwise `None`.
    pub(super) fn stop(&mut self, table: &ProcessTable) -> io::Result<Option<BTreeSet<Member>>> {
        self.stop_all(table, |_| Ok(false))
    }

    /// Stops the members like [`stop`](Self::stop), but also accepts a parent in `vfork`, which does not stop before
    /// its child has executed another program. While that child is stopped, the parent cannot start other processes.
    pub(super) fn hold(&mut self, table: &ProcessTable) -> io::Result<Option<BTreeSet<Member>>> {
        self.stop_all(table, is_held)
    }

    fn stop_all(
        &mut self,
        table: &ProcessTable,
        is_enough: impl Fn(Member) -> io::Result<bool>,
    ) -> io::Result<Option<BTreeSet<Member>>> {
        let members = self.lineage.members(table);
        let mut all = true;
        for member in &members {
            if !is_stopped(*member)? {
                all &= is_enough(*member)?;
                process_group::signal_one(member.0, Signal::STOP)?;
            }
        }
        Ok(all.then_some(members))
    }

    /// Kills all members that are alive in this table. Returns `true` if there was none.
    pub(super) fn kill(&mut self, table: &ProcessTable) -> bool {
        // A process that cannot be signalled belongs to another user, and stays alive.
        let killed = self.signal_all(table, Signal::KILL);
        self.is_extinct = killed.is_ok_and(|members| members.is_empty());
        self.is_extinct
    }

    /// Kills the remaining members, without waiting for their end.
    pub(super) fn abandon(&mut self) {
        // A process that has already exited needs no signal.
        let _ = self.signal(Signal::KILL);
        if !self.is_extinct
            && let Ok(table) = ProcessTable::read(self.since_ticks())
        {
            self.kill(&table);
        }
    }

    pub(super) fn poll_reap(&mut self, context: &mut Context<'_>) -> Poll<Exit> {
        // Until the dead leader is reaped, no other group can get its number. So the processes that the leader left
        // behind in its group must be killed now.
        if !self.spares_group && matches!(process_group::condition(self.pid), Ok(Condition::Dead)) {
            let _ = process_group::signal(self.pid, Signal::KILL);
        }
        let waited = pin!(self.child.wait()).poll(context);
        waited.map(|status| {
            self.reaped = true;
            match status {
                Ok(status) => status.into(),
                Err(error) => Exit {
                    description: format!("ended for an unknown reason: {error}"),
                    from_outside: false,
                },
            }
        })
    }
}

/// Reaps a dead process that this process has adopted because its parent had exited. A process with another parent
/// is left to that parent.
pub(super) fn reap_orphan((pid, started_ticks): Member) {
    let is_adopted = ProcessStat::for_process(pid).is_ok_and(|stat| {
        stat.has_ended() && stat.started_ticks == started_ticks && stat.parent == std::process::id()
    });
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let (true, Some(pid)) = (is_adopted, number) {
        // The result does not matter, because the process has exited.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
