//! The links between a worker and the Sentinels.
//!
//! No lock command goes this way, so there is no log, no gate and no fault here: a partition of a
//! worker from a node leaves it the Sentinels. All that happens is that the addresses in what the
//! Sentinels say are replaced, so that whoever asks them is led through the wire; any client that
//! speaks to Sentinels can be used as it is.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use picklock_scenarios::Direction;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

use super::announce::{AddressBook, rewritten};
use super::fabric::{Counted, Wire, listen, only_loopback};
use super::intake::{Intake, Next};

/// A Sentinel, from both sides.
#[derive(Debug, Clone, Copy)]
pub struct SentinelAt {
    /// Where it listens, on loopback.
    pub listening: SocketAddr,
    /// Where it says that it is.
    pub announced: SocketAddr,
}

impl Wire {
    /// Opens links for one worker to all Sentinels, and returns the loopback addresses on which
    /// it finds them, in the same order. `servers`: from the addresses that the Sentinels
    /// announce to the ones on which this worker finds the same servers.
    ///
    /// # Errors
    /// When a Sentinel is not on loopback, the wire is closed, or no port can be had.
    pub async fn open_sentinels(
        &self,
        sentinels: &[SentinelAt],
        servers: &[(SocketAddr, SocketAddr)],
    ) -> io::Result<Vec<SocketAddr>> {
        let mut book: AddressBook = servers.iter().copied().collect();
        let mut listeners = Vec::new();
        for sentinel in sentinels {
            only_loopback(sentinel.listening)?;
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            book.insert(sentinel.announced, listener.local_addr()?);
            listeners.push((listener, sentinel.listening));
        }
        let book = Arc::new(book);
        let mut addresses = Vec::new();
        for (listener, upstream) in listeners {
            addresses.push(listener.local_addr()?);
            let counted = self.count()?;
            let (wire, book) = (self.clone(), Arc::clone(&book));
            tokio::spawn(listen(counted, listener, move |client| {
                // A wire that was closed meanwhile carries nothing more.
                if let Ok(counted) = wire.count() {
                    tokio::spawn(carry(counted, client, upstream, Arc::clone(&book)));
                }
            }));
        }
        Ok(addresses)
    }
}

/// Carries one connection until either side ends it, or the wire is closed.
async fn carry(
    counted: Counted,
    mut client: TcpStream,
    upstream: SocketAddr,
    book: Arc<AddressBook>,
) {
    let talk = async {
        let mut sentinel = TcpStream::connect(upstream).await?;
        sentinel.set_nodelay(true)?;
        let (mut from_client, mut to_client) = client.split();
        let (mut from_sentinel, mut to_sentinel) = sentinel.split();
        tokio::select! {
            asked = tokio::io::copy(&mut from_client, &mut to_sentinel) => asked.map(drop),
            told = tell(&mut from_sentinel, &mut to_client, &book) => told,
        }
    };
    tokio::select! {
        biased;
        () = counted.closed() => {}
        // Whatever ended it, both sides see their connection closed.
        _ = talk => {}
    }
}

/// Passes on what the Sentinel says, with the addresses replaced.
async fn tell(
    reader: &mut ReadHalf<'_>,
    writer: &mut WriteHalf<'_>,
    book: &AddressBook,
) -> io::Result<()> {
    let mut intake = Intake::new(Direction::Reply);
    loop {
        match reader.read(intake.room()).await? {
            0 => return Ok(()),
            count => intake.filled(count),
        }
        let mut said = Vec::new();
        loop {
            match intake.next_frame() {
                Next::Frame(mark) => said.extend(rewritten(&intake.bytes()[mark.range], book)),
                Next::More => break,
                // An address that went by unseen would lead around the wire.
                Next::Unparseable(reason) => return Err(io::Error::other(reason)),
            }
        }
        intake.consume();
        writer.write_all(&said).await?;
    }
}
