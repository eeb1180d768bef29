//! Where connections hand their commands to the network.
//!
//! Connections must be `Send`, because redis-rs's futures are; the network need not be. So they
//! meet here and nowhere else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::model::Reply;
use crate::wire::LinkId;

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// The connection was reset.
    Reset,
    /// Nobody listens at the node.
    Refused,
    /// The node has no room for another connection: it says so, and closes this one.
    Full,
}

/// A command's name and arguments, in one piece.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    /// With room for most of the commands that locks give.
    pub(super) fn for_a_command() -> Self {
        Args {
            data: Vec::with_capacity(192),
            ends: Vec::with_capacity(8),
        }
    }

    pub(super) fn push(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(arg);
        self.ends.push(self.data.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.data[begin..*end])
    }

    /// All arguments run together: where a name is looked for.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }
}

/// What the network gives back for a command.
pub(super) type Answered = oneshot::Sender<Result<Reply, Lost>>;

/// What a connection hands over.
pub(super) enum Handed {
    /// A command to be carried to the node.
    Command {
        conn: u64,
        link: LinkId,
        args: Args,
        answered: Answered,
    },
    /// The client closed the connection; what it had sent still arrives.
    Close { conn: u64 },
}

/// The meeting place.
#[derive(Default)]
pub(super) struct Port {
    handed: Mutex<Vec<Handed>>,
    bell: Notify,
    conns: AtomicU64,
}

impl Port {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A number for a new connection.
    pub(super) fn open(&self) -> u64 {
        self.conns.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn hand(&self, handed: Handed) {
        self.lock().push(handed);
        self.bell.notify_one();
    }

    pub(super) fn take(&self) -> Vec<Handed> {
        std::mem::take(&mut *self.lock())
    }

    /// Makes the network look again.
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Ready when something was handed over, or the bell was rung.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Handed>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
