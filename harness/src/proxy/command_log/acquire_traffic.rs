//! What a worker sends while it asks for a lock and while it holds it: how many commands, and for how long none that
//! could take it.
//!
//! A client that polls without a pause, and one that sleeps while the lock is free, look alike in the
//! driver's eyes: both wait. What they send tells them apart.

use std::iter::Sum;

use picklock_scenarios::Phase;

/// The longest time in which an attempt to acquire sent nothing that could take a lock, nanoseconds since the
/// run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleWait {
    /// The attempt.
    pub op: u64,
    /// Since when.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
}

impl IdleWait {
    fn length_ns(self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }
}

/// How many commands were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandsSent {
    /// In order to acquire.
    pub acquiring: u64,
    /// By holders, from the answer on until they were told to release.
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

/// The commands of one worker.
#[derive(Debug, Default)]
pub(crate) struct AcquireTraffic {
    /// How many it has sent, in all its attempts and holds.
    sent: CommandsSent,
    /// When it was asked for a lock for the first time, and when its first command came after that.
    requested_at_ns: Option<u64>,
    first_command_at_ns: Option<u64>,
    /// It has the lock: it has been answered, and not yet been told to release.
    holds: bool,
    /// Its longest silence in the attempt that is under way, until its latest command that could take.
    longest: Option<IdleWait>,
    /// When it sent that command, or was asked.
    latest_ns: u64,
}

impl AcquireTraffic {
    /// The worker is asked for something else.
    pub(crate) fn begin(&mut self, op: u64, phase: Phase, at_ns: u64) {
        self.latest_ns = at_ns;
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
        });
    }

    /// The worker sends a command. `may_take`: one that can take a lock whose key is free.
    pub(crate) fn sent(&mut self, at_ns: u64, may_take: bool) {
        if self.requested_at_ns.is_some() {
            self.first_command_at_ns.get_or_insert(at_ns);
        }
        if self.longest.is_some() {
            self.sent.acquiring += 1;
            if may_take {
                self.longest = self.silence(at_ns);
                self.latest_ns = at_ns;
            }
        } else if self.holds {
            self.sent.holding += 1;
        }
    }

    /// Its longest silence so far. `None`: it is not asked to acquire.
    pub(crate) fn silence(&self, now_ns: u64) -> Option<IdleWait> {
        let longest = self.longest?;
        let latest = IdleWait {
            from_ns: self.latest_ns,
            until_ns: now_ns,
            ..longest
        };
        let is_longer = latest.length_ns() > longest.length_ns();
        Some(if is_longer { latest } else { longest })
    }

    /// From when until when it was asked for a lock for the first time and had sent nothing, nanoseconds since the run
    /// began. `None`: it was not asked.
    pub(crate) fn first_silence(&self, now_ns: u64) -> Option<(u64, u64)> {
        Some((
            self.requested_at_ns?,
            self.first_command_at_ns.unwrap_or(now_ns),
        ))
    }

    /// How many commands it has sent.
    pub(crate) fn commands(&self) -> CommandsSent {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence(op: u64, from_ns: u64, until_ns: u64) -> Option<IdleWait> {
        Some(IdleWait {
            op,
            from_ns,
            until_ns,
        })
    }

    #[test]
    fn longest_silence_of_an_attempt_may_be_its_last() {
        let mut traffic = AcquireTraffic::default();
        traffic.sent(1, true);
        assert_eq!(
            (traffic.silence(5), traffic.commands().acquiring),
            (None, 0)
        );
        traffic.begin(7, Phase::Acquire, 10);
        for (at_ns, may_take) in [(12, true), (30, false), (40, true), (50, true)] {
            traffic.sent(at_ns, may_take);
        }
        assert_eq!(traffic.silence(60), silence(7, 12, 40));
        assert_eq!(traffic.silence(90), silence(7, 50, 90));
        traffic.begin(7, Phase::Release, 91);
        traffic.sent(92, true);
        assert_eq!(
            (traffic.silence(99), traffic.commands().acquiring),
            (None, 4)
        );
        traffic.begin(8, Phase::Acquire, 100);
        assert_eq!(traffic.silence(130), silence(8, 100, 130));
    }
}
