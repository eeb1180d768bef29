//! Requests that were forwarded and not yet answered. Replies are matched to them in order.

use std::collections::VecDeque;

use crate::proxy::resp::command::{Expect, Request};
use crate::proxy::resp::reply_kind::ReplyKind;

/// Maximum number of unanswered requests. If there are more, the connection becomes a byte pipe.
const MAX_PENDING: usize = 1 << 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Replies {
    #[default]
    On,
    Off,
    SkipNext,
}

/// The unanswered requests of one connection.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Pending {
    queue: VecDeque<Request>,
    /// Number of confirmations of the first request that have arrived.
    confirmed: u32,
    /// Number of subscriptions of a RESP2 connection. While there are any, arrays may be messages.
    subscriptions: i64,
    replies: Replies,
}

impl Pending {
    /// Adds a request that is about to be forwarded. Returns `false` if its replies cannot be predicted.
    pub(in crate::proxy) fn expect_reply(&mut self, request: Request) -> bool {
        match (request.expect, self.replies) {
            (Expect::Unpredictable, _) => return false,
            (Expect::Nothing, _) => return true,
            (Expect::RepliesOn, _) => self.replies = Replies::On,
            (Expect::RepliesOff, _) => {
                self.replies = Replies::Off;
                return true;
            }
            (Expect::SkipNext, Replies::On) => {
                self.replies = Replies::SkipNext;
                return true;
            }
            (_, Replies::Off) => return true,
            (_, Replies::SkipNext) => {
                self.replies = Replies::On;
                return true;
            }
            (_, Replies::On) => {}
        }
        if self.queue.len() >= MAX_PENDING {
            return false;
        }
        self.queue.push_back(request);
        true
    }

    /// Returns the request that a reply answers, or `None` for a message or a push frame, which does not answer a
    /// request.
    pub(in crate::proxy) fn answered_by(&mut self, reply: ReplyKind) -> Option<Request> {
        match reply {
            ReplyKind::Answer | ReplyKind::Error => self.pop(),
            ReplyKind::Push => None,
            ReplyKind::Message if self.subscriptions > 0 => None,
            ReplyKind::Message => self.pop(),
            ReplyKind::Confirmation {
                subscribed,
                count,
                push,
            } => self.confirm(subscribed, count, push),
        }
    }

    /// Returns `true` if some confirmations of the first request have arrived and others have not.
    pub(in crate::proxy) fn waits_for_confirmations(&self) -> bool {
        self.confirmed > 0
    }

    fn confirm(&mut self, subscribed: bool, count: i64, push: bool) -> Option<Request> {
        let first = self.queue.front().copied();
        let expected = match first.map(|request| request.expect) {
            Some(Expect::Confirmations {
                subscribed: expected_kind,
                count: expected,
            }) if expected_kind == subscribed => Some(expected),
            _ => None,
        };
        if expected.is_none() && !push && self.subscriptions <= 0 {
            // The reply is an ordinary array that only looks like a confirmation.
            return self.pop();
        }
        if !push {
            // With RESP3, messages arrive as push frames, and an array is always a reply.
            self.subscriptions = count;
        }
        // A command that unsubscribes from all channels gets one confirmation per channel. Only the first of them
        // answers the request.
        let expected = expected?;
        self.confirmed += 1;
        if self.confirmed >= expected {
            self.pop()
        } else {
            first
        }
    }

    fn pop(&mut self) -> Option<Request> {
        self.confirmed = 0;
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::Phase;

    use super::*;
    use crate::proxy::operation::Operation;

    #[test]
    fn second_confirmation_ends_a_request_with_two() {
        let (op, phase) = (1, Phase::Acquire);
        let request = Request {
            expect: Expect::Confirmations {
                subscribed: true,
                count: 2,
            },
            ..Request::none(Operation { op, phase })
        };
        let mut pending = Pending::default();
        assert!(pending.expect_reply(request));
        for (count, waits) in [(1, true), (2, false)] {
            let confirmation = ReplyKind::Confirmation {
                subscribed: true,
                count,
                push: false,
            };
            assert_eq!(pending.answered_by(confirmation), Some(request));
            assert_eq!(pending.waits_for_confirmations(), waits);
        }
    }
}
