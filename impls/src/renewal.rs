//! Renewing leases in the background: what a watchdog does, whatever it is that it renews.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::contract::{Grant, LockError, Notice};
use crate::options::{OptionKind, OptionSpec, OptionValue, Options};
use crate::patience::RETRY_DELAY;
use crate::span::Span;
use crate::stopwatch::Deadline;

/// Half the lease leaves the other half for trying again.
pub(crate) const RENEW_EVERY: OptionSpec = OptionSpec {
    name: "renew_every",
    meaning: "how long after a renewal the next one is due",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(Span::Ttl(0.5)),
};

/// What a renewal task has to say.
enum Word {
    /// The lease now runs until then.
    Extended(Deadline),
    /// It is over.
    Lost,
}

/// What makes renewing safe. Mutants lack one each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// A lease that has run out is not renewed.
    pub(crate) minds_the_lease: bool,
    /// The holder hears of the loss.
    pub(crate) tells_of_loss: bool,
    /// Whoever gives the lock back renews it no longer.
    pub(crate) ends_at_release: bool,
}

impl Habits {
    /// As it should be.
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

    /// From now on renews the lease of `grant` in the background, in place of what renewed it
    /// before. `renew` asks Redis once: how long the lease is worth now, or that it is gone.
    ///
    /// A grant that does not say how long it is valid is not renewed.
    pub(crate) fn begin(
        &mut self,
        options: &Options,
        grant: &Grant,
        ttl: Duration,
        renew: impl AsyncFnMut() -> Result<Option<Duration>, LockError> + 'static,
    ) {
        let Some(valid_for) = grant.valid_for else {
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
        let task = keep_alive(rhythm, Deadline::after(valid_for), renew, say);
        let task = Task(tokio::task::spawn_local(task));
        self.tasks.insert(grant.token.clone(), task);
    }

    /// Renews it no longer, and says nothing more of it.
    pub(crate) fn end(&mut self, grant: &Grant) {
        if self.habits.ends_at_release {
            self.tasks.remove(&grant.token);
        }
    }

    /// The next word of any renewal. Cancel-safe.
    pub(crate) async fn notice(&mut self) -> Notice {
        loop {
            let Some((token, word)) = self.words.recv().await else {
                // Not reached: we hold a sender ourselves.
                std::future::pending::<()>().await;
                continue;
            };
            // What was said before the end, and not yet heard, is no longer true.
            if !self.tasks.contains_key(&token) {
                continue;
            }
            return match word {
                Word::Extended(until) => Notice::Extended {
                    token,
                    valid_for: until.left(),
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
    /// After the last one.
    every: Duration,
    /// After one that failed.
    retry: Duration,
}

/// Renews until the lease is lost, which is the last word, or nobody listens any more. A renewal
/// that fails is tried again for as long as the lease runs: failing to ask is not losing.
async fn keep_alive(
    rhythm: Rhythm,
    mut until: Deadline,
    mut renew: impl AsyncFnMut() -> Result<Option<Duration>, LockError>,
    say: impl Fn(Word) -> bool,
) {
    let mut pause = rhythm.every;
    loop {
        tokio::time::sleep(pause.min(until.left())).await;
        // Also after a freeze: what the lease is worth is looked at before Redis is asked.
        let left = until.left();
        if left.is_zero() && rhythm.habits.minds_the_lease {
            break;
        }
        let patience = if left.is_zero() { rhythm.every } else { left };
        match tokio::time::timeout(patience, renew()).await {
            Ok(Ok(Some(valid_for))) => {
                until = Deadline::after(valid_for);
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
        // Where nobody listens, nobody needs to know.
        say(Word::Lost);
    }
}
