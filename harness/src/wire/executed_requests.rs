//! What servers say they have executed, joined with what the wire has sent them.

use std::ops::Range;

use super::proxy::Wire;
use super::sent_requests::{ExecutedRequest, SentRequests, introduced};

impl Wire {
    /// From now on connections introduce themselves to their servers, and what they send is kept
    /// until [`Wire::executed`] asks for it. Call it before the first connection.
    pub fn keep_requests(&self) {
        self.proxy.sent.get_or_init(SentRequests::default);
    }

    /// The number of the connection that introduces itself to its server with this word.
    pub fn introduced(word: &[u8]) -> Option<u64> {
        introduced(word)
    }

    /// A server says that it has executed this command of a connection, given as name and arguments.
    /// `None`: there is no such connection, or requests are not kept.
    pub fn executed(&self, conn: u64, words: &[Vec<u8>]) -> Option<ExecutedRequest> {
        self.proxy.sent.get()?.claim_words(conn, words)
    }

    /// Connections that were closed towards their servers, in that order: those with these numbers.
    pub fn closed(&self, numbers: Range<usize>) -> Vec<u64> {
        let sent = self.proxy.sent.get();
        sent.map_or_else(Vec::new, |sent| sent.closed_ones(numbers))
    }

    /// True if the node has carried out a command that names a lock's key, by its reply, and no server has
    /// told about it.
    pub fn has_untold(&self, node: usize) -> bool {
        let sent = self.proxy.sent.get();
        sent.is_some_and(|sent| sent.has_untold(node))
    }
}
