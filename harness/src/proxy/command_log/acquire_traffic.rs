//! Statistics of the commands that a worker sends while it waits for a lock and while it holds it: their number,
//! and the longest time without a command that could take the lock.
//!
//! For the driver, a client that polls without a pause looks like a client that sleeps while the lock is free: both
//! wait. Only their commands differ.

use std::iter::Sum;

use picklock_scenarios::Phase;

/// The longest time in which an attempt to acquire sent no command that could take a lock. Times are in nanoseconds
/// since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleWait {
    /// The attempt.
    pub op: u64,
    /// Start of that time.
    pub from_ns: u64,
    /// End of that time.
    pub until_ns: u64,
    /// Whether the attempt has sent no command at all.
    pub no_command: bool,
    /// Whether a fault dropped the command at the start of that time, or the reply to it.
    pub lost_reply: bool,
}

impl IdleWait {
    fn length_ns(self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }
}

/// Numbers of commands that were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandsSent {
    /// Commands of clients that were acquiring.
    pub acquiring: u64,
    /// Commands of holders, from the grant until the request to release.
    pub holding: u64,
}

impl Sum for CommandsSent {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(CommandsSent::default(), |sum, sent| CommandsSent {
            acquiring: sum.acquiring + sent.acquiring,
            holding: sum.holding + sent.holding,
        })
    }
}

/// Statistics of the commands of one worker.
#[derive(Debug, Default)]
pub(crate) struct AcquireTraffic {
    /// Number of commands in all attempts and holds of the worker.
    sent: CommandsSent,
    /// When a lock was first requested from the worker.
    requested_at_ns: Option<u64>,
    /// When the worker's first command after that was sent.
    first_command_at_ns: Option<u64>,
    /// Whether the worker holds the lock: it was granted the lock, and the release has not been requested.
    holds: bool,
    /// The longest idle wait of the current attempt, up to its latest command that could take the lock.
    longest: Option<IdleWait>,
    /// When the worker sent that latest command or, if there is none, when the attempt began.
    latest_ns: u64,
    /// Whether a fault dropped that latest command, or the reply to it.
    lost_reply: bool,
}

impl AcquireTraffic {
    /// Records that another operation is requested from the worker.
    pub(crate) fn begin(&mut self, op: u64, phase: Phase, at_ns: u64) {
        (self.latest_ns, self.lost_reply) = (at_ns, false);
        if phase == Phase::Acquire {
            self.requested_at_ns.get_or_insert(at_ns);
        }
        self.holds = match phase {
            Phase::Idle => self.holds || self.longest.is_some(),
            Phase::Extend => true,
            Phase::Acquire | Phase::Release => false,
        };
        self.longest = (phase == Phase::Acquire).then_some(IdleWait {
            op,
            from_ns: at_ns,
            until_ns: at_ns,
            no_command: true,
            lost_reply: false,
        });
    }

    /// Records that a fault dropped a command of an attempt that could take the lock, or the reply to it.
    pub(crate) fn record_loss(&mut self, op: u64) {
        self.lost_reply |= self.longest.is_some_and(|longest| longest.op == op);
    }

    /// Records a command. `may_take` is `true` if it can take a lock whose key is free.
    pub(crate) fn record_command(&mut self, at_ns: u64, may_take: bool) {
        if self.requested_at_ns.is_some() {
            self.first_command_at_ns.get_or_insert(at_ns);
        }
        if let Some(longest) = &mut self.longest {
            longest.no_command = false;
            self.sent.acquiring += 1;
            if may_take {
                self.longest = self.idle_wait(at_ns);
                (self.latest_ns, self.lost_reply) = (at_ns, false);
            }
        } else if self.holds {
            self.sent.holding += 1;
        }
    }

    /// Returns the longest idle wait of the current attempt so far, or `None` if the worker is not acquiring.
    pub(crate) fn idle_wait(&self, now_ns: u64) -> Option<IdleWait> {
        let longest = self.longest?;
        let latest = IdleWait {
            from_ns: self.latest_ns,
            until_ns: now_ns,
            lost_reply: self.lost_reply,
            ..longest
        };
        let is_longer = latest.length_ns() > longest.length_ns();
        Some(if is_longer { latest } else { longest })
    }

    /// Returns the interval from the first request for a lock until the worker's first command, in nanoseconds
    /// since the run began, or `None` if no lock was requested.
    pub(crate) fn first_idle_wait(&self, now_ns: u64) -> Option<(u64, u64)> {
        Some((
            self.requested_at_ns?,
            self.first_command_at_ns.unwrap_or(now_ns),
        ))
    }

    /// Returns the numbers of commands that the worker has sent.
    pub(crate) fn commands(&self) -> CommandsSent {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle_wait(op: u64, from_ns: u64, until_ns: u64) -> Option<IdleWait> {
        Some(IdleWait {
            op,
            from_ns,
            until_ns,
            no_command: false,
            lost_reply: false,
        })
    }

    #[test]
    fn longest_idle_wait_may_be_the_last() {
        let mut traffic = AcquireTraffic::default();
        traffic.record_command(1, true);
        assert_eq!(
            (traffic.idle_wait(5), traffic.commands().acquiring),
            (None, 0)
        );
        traffic.begin(7, Phase::Acquire, 10);
        for (at_ns, may_take) in [(12, true), (30, false), (40, true), (50, true)] {
            traffic.record_command(at_ns, may_take);
        }
        assert_eq!(traffic.idle_wait(60), idle_wait(7, 12, 40));
        assert_eq!(traffic.idle_wait(90), idle_wait(7, 50, 90));
        traffic.begin(7, Phase::Release, 91);
        traffic.record_command(92, true);
        assert_eq!(
            (traffic.idle_wait(99), traffic.commands().acquiring),
            (None, 4)
        );
        traffic.begin(8, Phase::Acquire, 100);
        let silent = traffic.idle_wait(130).unwrap();
        assert_eq!(
            (silent.op, silent.from_ns, silent.no_command),
            (8, 100, true)
        );
    }

    #[test]
    fn loss_counts_until_the_next_command_that_may_take() {
        let mut traffic = AcquireTraffic::default();
        traffic.begin(7, Phase::Acquire, 10);
        traffic.record_command(12, true);
        traffic.record_loss(6);
        assert!(!traffic.idle_wait(20).unwrap().lost_reply);
        traffic.record_loss(7);
        traffic.record_command(15, false);
        assert!(traffic.idle_wait(20).unwrap().lost_reply);
        traffic.record_command(30, true);
        assert!(traffic.idle_wait(35).unwrap().lost_reply);
        assert!(!traffic.idle_wait(90).unwrap().lost_reply);
    }
}
