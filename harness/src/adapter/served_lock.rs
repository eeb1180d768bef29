//! The lock that serves one client, and its answers to the client's requests.

use std::time::Duration;

use picklock_impls::{Canceller, DynLock, Grant, LockError, Notice};
use picklock_scenarios::LockKind;

use super::message::{
    Answer, Init, Mode, Notification, Offers, PROTOCOL, Request, RequestKind, SHARED_PROTOCOL,
    WorkerMessage,
};
use super::served_clients::{failed, invalid, unknown_token};
use crate::clock::{Clock, millis};
use crate::lock_kinds::kind_of;

/// The next thing that a client has to handle.
pub(super) enum Incoming {
    Request(Request),
    Notice(Notice),
    /// There are no more requests.
    End,
}

/// A grant that has not been released.
struct HeldGrant {
    key: String,
    grant: Grant,
    /// When the acquire request of this grant was read.
    read_at: Duration,
}

/// The lock of one client. `build` creates the lock when the client receives `init`.
pub(super) struct ServedLock<B> {
    pub(super) clock: Clock,
    build: Option<B>,
    lock: Option<Box<dyn DynLock>>,
    /// The grants of the client: a short list. Grants of different locks may have the same token.
    grants: Vec<HeldGrant>,
    pub(super) canceller: Canceller,
}

impl<B, F> ServedLock<B>
where
    B: FnOnce(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    pub(super) fn new(build: B) -> Self {
        ServedLock {
            clock: Clock::start(),
            build: Some(build),
            lock: None,
            grants: Vec::new(),
            canceller: Canceller::default(),
        }
    }

    /// Returns the next request or notice. Notices come first, so that a busy driver does not delay the report of a
    /// lost lease.
    pub(super) async fn next(
        &mut self,
        request: impl Future<Output = Option<Request>>,
    ) -> Incoming {
        let request = match &mut self.lock {
            None => request.await,
            Some(lock) => tokio::select! {
                biased;
                notice = lock.notice() => return Incoming::Notice(notice),
                request = request => request,
            },
        };
        request.map_or(Incoming::End, Incoming::Request)
    }

    /// Converts a notice into an event. The remaining lease is computed last, immediately before the event is written.
    pub(super) fn event(&self, notice: Notice) -> WorkerMessage {
        let client = None;
        WorkerMessage::Event(match notice {
            Notice::Extended { token, valid_until } => Notification::Extended {
                elapsed_ms: self
                    .grants
                    .iter()
                    .find(|held| held.grant.token == token)
                    .map(|held| self.since(held.read_at)),
                token,
                valid_ms: millis(valid_until.left()),
                client,
            },
            Notice::Lost { token } => Notification::Lost { token, client },
        })
    }

    pub(super) async fn reply(&mut self, request: Request, read_at: Duration) -> WorkerMessage {
        let Request { id, client, ask } = request;
        let answer = match ask {
            RequestKind::Ping => Answer::Pong,
            RequestKind::Init(init) => self.init(init).await,
            RequestKind::Acquire {
                key,
                ttl_ms,
                wait_ms,
                mode,
                permits,
            } => {
                self.acquire(read_at, &key, (ttl_ms, wait_ms), (mode, permits))
                    .await
            }
            RequestKind::Extend { key, token, ttl_ms } => {
                self.extend(read_at, &key, &token, ttl_ms).await
            }
            RequestKind::Act { key, token } => self.may_act(&key, &token).await,
            RequestKind::Release { key, token } => self.release(&key, &token, false).await,
            RequestKind::SectionFailed { key, token } => self.release(&key, &token, true).await,
            RequestKind::ReleaseUnheld { key } => self.release_unheld(&key).await,
            // The request to cancel has already been answered.
            RequestKind::Cancel { .. } => invalid("there is no request to cancel"),
            RequestKind::EndClient => Answer::Ended,
            RequestKind::Join(_) => invalid("`join` applies to a process, not to a client"),
            RequestKind::Block { .. } => invalid("a single client cannot be blocked"),
        };
        WorkerMessage::Reply { id, client, answer }
    }

    async fn init(&mut self, init: Init) -> Answer {
        let protocol = init.protocol;
        if protocol != PROTOCOL {
            return invalid(format!(
                "protocol {protocol} is not supported, only {PROTOCOL}"
            ));
        }
        let Some(build) = self.build.take() else {
            return invalid("received a second `init`");
        };
        match build(init, self.canceller.clone()).await {
            Ok(mut lock) => {
                lock.start().await;
                let mut offers = OFFERS;
                offers.reentrant = lock.is_reentrant().then_some(true);
                let kind = kind_of(lock.kind());
                offers.kinds = (kind != LockKind::Mutex).then(|| vec![kind]);
                let min_hold = lock.min_hold();
                offers.several_permits = lock.takes_several_permits().then_some(true);
                self.lock = Some(lock);
                Answer::Ready {
                    name: None,
                    version: None,
                    extends: None,
                    min_hold_ms: (!min_hold.is_zero()).then(|| millis(min_hold)),
                    lease_margin_ms: None,
                    offers,
                }
            }
            Err(reason) => invalid(reason),
        }
    }

    async fn acquire(
        &mut self,
        read_at: Duration,
        key: &str,
        (ttl_ms, wait_ms): (u64, u64),
        (mode, permits): (Option<Mode>, Option<u32>),
    ) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let ttl = Duration::from_millis(ttl_ms);
        let wait = Duration::from_millis(wait_ms);
        let taken = match (mode, permits) {
            (Some(Mode::Shared), _) => lock.acquire_shared(key, ttl, wait).await,
            (_, Some(permits)) => lock.acquire_permits(key, permits, ttl, wait).await,
            _ => lock.acquire(key, ttl, wait).await,
        };
        match taken {
            Ok(Some(grant)) => self.granted(key, grant, (read_at, read_at)),
            Ok(None) if self.canceller.is_cancelled() => Answer::Cancelled,
            Ok(None) => Answer::Refused,
            Err(error) => failed(&error),
        }
    }

    async fn extend(&mut self, read_at: Duration, key: &str, token: &str, ttl_ms: u64) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        let held = &self.grants[index];
        let ttl = Duration::from_millis(ttl_ms);
        match lock.extend(key, &held.grant, ttl).await {
            Ok(Some(grant)) => {
                let acquired_at = held.read_at;
                self.grants.remove(index);
                self.granted(key, grant, (read_at, acquired_at))
            }
            Ok(None) => Answer::Refused,
            Err(LockError::Unsupported(message)) => {
                let message = Some(message);
                Answer::Unsupported { message }
            }
            Err(error) => failed(&error),
        }
    }

    /// Returns the permission to act if the lock confirms that this client still leads.
    async fn may_act(&mut self, key: &str, token: &str) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        match lock.may_act(key, &self.grants[index].grant).await {
            Ok(Some(grant)) => Answer::Acting { epoch: grant.fence },
            Ok(None) => Answer::Refused,
            Err(error) => failed(&error),
        }
    }

    /// Releases a grant. If `section_failed`, the lock reacts as it does when the critical section fails.
    async fn release(&mut self, key: &str, token: &str, section_failed: bool) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        let held = &self.grants[index];
        let released = if section_failed {
            lock.section_failed(key, &held.grant)
        } else {
            lock.release(key, &held.grant)
        };
        match released.await {
            Ok(released) => {
                self.grants.remove(index);
                let released = Some(released);
                Answer::Released { released }
            }
            // Keep the grant. Without its token, the client could not repeat the release.
            Err(error) => failed(&error),
        }
    }

    /// Releases a lock that was never granted to this client.
    async fn release_unheld(&mut self, key: &str) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let never = Grant {
            token: "never granted".to_owned(),
            fence: None,
            valid_until: None,
        };
        match lock.release(key, &never).await {
            Ok(released) => Answer::Released {
                released: Some(released),
            },
            Err(error) => failed(&error),
        }
    }

    /// Runs the lock's clean-up.
    pub(super) async fn terminate(&mut self) {
        let held = self.grants.drain(..).map(|held| (held.key, held.grant));
        let held: Vec<(String, Grant)> = held.collect();
        if let Some(lock) = &mut self.lock {
            lock.terminate(&held).await;
        }
    }

    /// Returns the time since `then` in milliseconds, rounded down.
    fn since(&self, then: Duration) -> u64 {
        millis(self.clock.elapsed().saturating_sub(then))
    }

    /// Stores the grant, and returns the reply. The remaining lease is computed after `elapsed_ms`, immediately before
    /// the reply is written, so that the time between the two figures cannot make the lease look longer.
    fn granted(
        &mut self,
        key: &str,
        grant: Grant,
        (read_at, acquired_at): (Duration, Duration),
    ) -> Answer {
        let held = HeldGrant {
            key: key.to_owned(),
            grant: grant.clone(),
            read_at: acquired_at,
        };
        // A holder that takes its lock again may get the same token again.
        match position(&self.grants, key, &grant.token) {
            Some(index) => self.grants[index] = held,
            None => self.grants.push(held),
        }
        let elapsed_ms = Some(self.since(read_at));
        Answer::Granted {
            token: grant.token,
            fence: grant.fence,
            valid_ms: grant.valid_until.map(|deadline| millis(deadline.left())),
            elapsed_ms,
        }
    }
}

/// The features that every built-in lock offers.
const OFFERS: Offers = Offers {
    protocol: Some(SHARED_PROTOCOL),
    clients: Some(true),
    own_connections: Some(true),
    blocks_loop: Some(true),
    blocks_thread: None,
    cancels: Some(true),
    releases_unheld: Some(true),
    fails_sections: Some(true),
    reentrant: None,
    ends_clients: Some(true),
    kinds: None,
    several_permits: None,
};

const NO_LOCK: &str = "there is no lock yet: send `init` first, and wait for `ready`";

fn position(grants: &[HeldGrant], key: &str, token: &str) -> Option<usize> {
    grants
        .iter()
        .position(|held| held.grant.token == token && held.key == key)
}
