//! Requests that were forwarded and not yet answered: replies are matched to them in order.

use std::collections::VecDeque;

use super::codec::Reply;
use super::command::{Expect, Request};
use super::stamp::Stamp;

/// More unanswered requests than this are not kept: the connection becomes a byte pipe.
const MOST: usize = 1 << 20;

/// A forwarded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// What it asks.
    pub request: Request,
    /// What its worker was busy with.
    pub stamp: Stamp,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Replies {
    #[default]
    On,
    Off,
    SkipNext,
}

/// The unanswered requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<Asked>,
    /// Confirmations of the first request that have come.
    confirmed: u32,
    /// Subscriptions of a RESP2 connection: while it has some, arrays may be messages.
    subscriptions: i64,
    replies: Replies,
}

impl Pending {
    /// Remembers a request that is about to be forwarded. False: its answers cannot be foretold.
    pub(super) fn ask(&mut self, asked: Asked) -> bool {
        match (asked.request.expect, self.replies) {
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
        if self.queue.len() >= MOST {
            return false;
        }
        self.queue.push_back(asked);
        true
    }

    /// The request that a reply answers. `None`: it answers none (messages, push frames).
    pub(super) fn answered_by(&mut self, reply: Reply) -> Option<Asked> {
        match reply {
            Reply::Answer | Reply::Error => self.pop(),
            Reply::Push => None,
            Reply::Message if self.subscriptions > 0 => None,
            Reply::Message => self.pop(),
            Reply::Confirmation {
                subscribed,
                count,
                push,
            } => self.confirm(subscribed, count, push),
        }
    }

    fn confirm(&mut self, subscribed: bool, count: i64, push: bool) -> Option<Asked> {
        let first = self.queue.front().copied();
        let expected = match first.map(|asked| asked.request.expect) {
            Some(Expect::Confirmations {
                subscribed: wanted,
                count: expected,
            }) if wanted == subscribed => Some(expected),
            _ => None,
        };
        if expected.is_none() && !push && self.subscriptions <= 0 {
            // An ordinary array that only looks like a confirmation.
            return self.pop();
        }
        if !push {
            // With RESP3 messages come as push frames, and an array is always an answer.
            self.subscriptions = count;
        }
        // Unsubscribing from everything confirms each channel: those after the first answer
        // nothing that is waited for.
        let expected = expected?;
        self.confirmed += 1;
        if self.confirmed >= expected {
            self.pop()
        } else {
            first
        }
    }

    fn pop(&mut self) -> Option<Asked> {
        self.confirmed = 0;
        self.queue.pop_front()
    }
}
