//! Renewing leases in the background: what a watchdog does, for any kind of lock.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::contract::{Grant, LockError, Notice};
use crate::lease_duration::LeaseDuration;
use crate::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::patience::RETRY_DELAY;
use crate::stopwatch::Deadline;

/// Half the lease leaves the other half for retries.
pub(crate) const RENEW_EVERY: OptionSpec = OptionSpec {
    name: "renew_every",
    meaning: "time from one renewal to the next",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.5)),
};

/// What a renewal task reports.
enum Word {
    /// The lease now runs until this time.
    Extended(Deadline),
    /// The lease is lost.
    Lost,
}

/// What makes renewing safe. Each mutant lacks one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// An expired lease is not renewed.
    pub(crate) minds_the_lease: bool,
    /// The holder is told about the loss.
    pub(crate) tells_of_loss: bool,
    /// A released lock is no longer renewed.
    pub(crate) ends_at_release: bool,
}

impl Habits {
    /// All of them, as a sound lock needs.
    pub(crate) const SOUND: Habits = Habits {
        minds_the_lease: true,
        tells_of_loss: true,
        ends_at_release: true,
    };
}

/// A task that ends with its handle.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The renewals of one client, by the token of the grant.
pub(crate) struct Renewals {
    habits: Habits,
    tasks: BTreeMap<String, Task>,
    speak: UnboundedSender<(String, Word)>,
    words: UnboundedReceiver<(String, Word)>,
}

impl Renewals {
    pub(crate) fn new(habits: Habits) -> Self {
        let (speak, words) = unbounded_channel();
        Renewals {
            habits,
            tasks: BTreeMap::new(),
            speak,
            words,
        }
    }

    /// From now on renews the lease of `grant` in the background, and replaces its earlier renewal.
    /// `renew` asks Redis once: it returns until when the lease is valid now, or that it is gone.
    ///
    /// A grant without a validity time is not renewed.
    pub(crate) fn begin(
        &mut self,
        options: &Options,
        grant: &Grant,
        ttl: Duration,
        renew: impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static,
    ) {
        let Some(valid_until) = grant.valid_until else {
            return;
        };
        let rhythm = Rhythm {
            habits: self.habits,
            every: options.duration(&RENEW_EVERY, ttl),
            retry: options.duration(&RETRY_DELAY, ttl),
        };
        let token = grant.token.clone();
        let speak = self.speak.clone();
        let say = move |word| speak.send((token.clone(), word)).is_ok();
        let task = keep_alive(rhythm, valid_until, renew, say);
        let task = Task(tokio::task::spawn_local(task));
        self.tasks.insert(grant.token.clone(), task);
    }

    /// Stops the renewal, and reports nothing more about it.
    pub(crate) fn end(&mut self, grant: &Grant) {
        if self.habits.ends_at_release {
            self.tasks.remove(&grant.token);
        }
    }

    /// The next notice of any renewal. Cancel-safe.
    pub(crate) async fn notice(&mut self) -> Notice {
        loop {
            let Some((token, word)) = self.words.recv().await else {
                // Unreachable: we hold a sender ourselves.
                std::future::pending::<()>().await;
                continue;
            };
            // A notice from before the end that was not read in time is no longer true.
            if !self.tasks.contains_key(&token) {
                continue;
            }
            return match word {
                Word::Extended(until) => Notice::Extended {
                    token,
                    valid_until: until,
                },
                Word::Lost => Notice::Lost { token },
            };
        }
    }
}

/// When a renewal is due.
#[derive(Debug, Clone, Copy)]
struct Rhythm {
    habits: Habits,
    /// After a successful one.
    every: Duration,
    /// After a failed one.
    retry: Duration,
}

/// Renews until the lease is lost, which is the last report, or the receiver is gone. A failed
/// renewal is retried for as long as the lease runs: a failure to ask is not a loss.
async fn keep_alive(
    rhythm: Rhythm,
    mut until: Deadline,
    mut renew: impl AsyncFnMut() -> Result<Option<Deadline>, LockError>,
    say: impl Fn(Word) -> bool,
) {
    let mut pause = rhythm.every;
    loop {
        tokio::time::sleep(pause.min(until.left())).await;
        // Also after a freeze: check the lease before asking Redis.
        let left = until.left();
        if left.is_zero() && rhythm.habits.minds_the_lease {
            break;
        }
        let patience = if left.is_zero() { rhythm.every } else { left };
        match tokio::time::timeout(patience, renew()).await {
            Ok(Ok(Some(valid_until))) => {
                until = valid_until;
                if !say(Word::Extended(until)) {
                    return;
                }
                pause = rhythm.every;
            }
            Ok(Err(_)) => pause = rhythm.retry,
            Ok(Ok(None)) | Err(_) => break,
        }
    }
    if rhythm.habits.tells_of_loss {
        // If the receiver is gone, the report is not needed.
        say(Word::Lost);
    }
}
