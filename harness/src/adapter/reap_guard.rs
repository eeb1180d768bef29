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

/// The child, under one lock for signals and for reaping. After a process is reaped, its id may
/// belong to an unrelated process, which must never be signalled.
pub(super) struct ReapGuard {
    child: Child,
    pid: Pid,
    reaped: bool,
    lineage: Lineage,
    /// True: what the child leaves behind in its group is not killed when it has ended.
    spares_group: bool,
    /// True when the whole lineage was seen to be dead.
    is_extinct: bool,
}

pub(super) enum Sent {
    Delivered,
    TooLate,
}

impl ReapGuard {
    /// Of a child that leads a process group. Its descendants carry `mark`.
    pub(super) fn new(child: Child, mark: String) -> io::Result<Self> {
        let number = child.id();
        let pid = number.and_then(|id| Pid::from_raw(id.cast_signed()));
        let (Some(number), Some(pid)) = (number, pid) else {
            return Err(io::Error::other("it has no process number"));
        };
        // Without `/proc` only the process group is known.
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

    /// No descendant is older than this, in clock ticks since boot.
    pub(super) fn since_ticks(&self) -> u64 {
        self.lineage.since_ticks()
    }

    /// What the child leaves behind in its group shall live on, for somebody to look at.
    #[cfg(feature = "servers")]
    pub(super) fn spare_group(&mut self) {
        self.spares_group = true;
    }

    /// The child and its descendants, as far as they live in this table.
    pub(super) fn members(&mut self, table: &ProcessTable) -> BTreeSet<Member> {
        self.lineage.members(table)
    }

    /// True if this process is one of them.
    pub(super) fn has(&mut self, table: &ProcessTable, pid: u32) -> bool {
        self.members(table).iter().any(|(one, _)| *one == pid)
    }

    /// Signals the process group, unless the child is dead.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<Sent> {
        if self.condition()? == Condition::Dead {
            return Ok(Sent::TooLate);
        }
        process_group::signal(self.pid, signal)?;
        Ok(Sent::Delivered)
    }

    /// The state of the child itself.
    pub(super) fn condition(&self) -> io::Result<Condition> {
        if self.reaped {
            return Ok(Condition::Dead);
        }
        process_group::condition(self.pid)
    }

    /// Signals every descendant that lives in this table, and returns them.
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

    /// Stops every descendant that lives in this table and still runs. Returns all of them if none
    /// did; else `None`.
    pub(super) fn stop(&mut self, table: &ProcessTable) -> io::Result<Option<BTreeSet<Member>>> {
        self.stop_all(table, |_| Ok(false))
    }

    /// The same, but returns all of them if none could start another process. A parent in `vfork` does not
    /// stop before its child is another program, which it may never be: the child stands still.
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

    /// Kills every descendant that lives in this table. Returns true when there is none.
    pub(super) fn kill(&mut self, table: &ProcessTable) -> bool {
        // One that cannot be signalled belongs to another user, and stays.
        let killed = self.signal_all(table, Signal::KILL);
        self.is_extinct = killed.is_ok_and(|members| members.is_empty());
        self.is_extinct
    }

    /// Kills what is left, without waiting for its end.
    pub(super) fn abandon(&mut self) {
        // A process that has already ended needs no signal.
        let _ = self.signal(Signal::KILL);
        if !self.is_extinct
            && let Ok(table) = ProcessTable::read(self.since_ticks())
        {
            self.kill(&table);
        }
    }

    pub(super) fn poll_reap(&mut self, context: &mut Context<'_>) -> Poll<Exit> {
        // Until the dead leader is reaped, no other group can have its number. So this is the time
        // to kill what it left behind in its group.
        if !self.spares_group && matches!(process_group::condition(self.pid), Ok(Condition::Dead)) {
            let _ = process_group::signal(self.pid, Signal::KILL);
        }
        let waited = pin!(self.child.wait()).poll(context);
        waited.map(|status| {
            self.reaped = true;
            match status {
                Ok(status) => status.into(),
                Err(error) => Exit {
                    words: format!("ended, and the reason is not known: {error}"),
                    by_signal: false,
                },
            }
        })
    }
}

/// Reaps a dead process that this process had adopted because its parent had ended. One that has
/// another parent is left to that.
pub(super) fn reap_orphan((pid, started_ticks): Member) {
    let is_ours = ProcessStat::for_process(pid).is_ok_and(|stat| {
        stat.has_ended() && stat.started_ticks == started_ticks && stat.parent == std::process::id()
    });
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let (true, Some(pid)) = (is_ours, number) {
        // It has ended, so there is nothing to wait for.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
