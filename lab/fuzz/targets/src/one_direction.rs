//! The bytes of one direction of a connection, sent through a link at once and in pieces.

use std::net::Ipv4Addr;
use std::sync::Arc;

use picklock_harness::clock::Clock;
use picklock_harness::proxy::{FrameOutcome, LinkId, NoInterceptor, Proxy};
use picklock_scenarios::Direction;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Sizes of the pieces, in bytes.
const PIECES: [usize; 3] = [usize::MAX, 1, 7];

/// The reason that a link gives when it stops parsing after a request whose replies it cannot predict, such as `PSYNC`.
/// Requests that arrived together with that request were already parsed.
const UNPREDICTABLE: &str = "replies that cannot be matched to requests";

/// How a link parsed the bytes.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    frames: Vec<Seen>,
    why_raw: Option<String>,
}

/// How a link parsed one frame.
#[derive(Debug, PartialEq)]
struct Seen {
    direction: Direction,
    command: String,
    names_key: Option<u32>,
    size: u64,
    preview: String,
}

/// Sends the bytes through a link after the requests in `requests`, in pieces of several sizes.
///
/// # Panics
/// Panics if a byte was lost or changed, or if the parsed frames depend on the size of the pieces.
pub fn same_however_it_comes(direction: Direction, requests: &[u8], bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let [mut whole, others @ ..] =
        PIECES.map(|size| runtime.block_on(through(direction, requests, bytes, size)));
    for mut other in others {
        if whole.why_raw.as_deref() == Some(UNPREDICTABLE) {
            let both = whole.frames.len().min(other.frames.len());
            whole.frames.truncate(both);
            other.frames.truncate(both);
        }
        assert_eq!(whole, other, "what is found depends on how the bytes come");
    }
}

async fn through(direction: Direction, requests: &[u8], bytes: &[u8], size: usize) -> Reading {
    let keys = vec!["lock".to_owned(), "lock:1".to_owned()];
    let proxy = Proxy::new(Clock::start(), keys, 1, Arc::new(NoInterceptor));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port");
    let node = listener.local_addr().expect("an address");
    let link = proxy.open(LinkId { worker: 0, node: 0 }, node).await;
    let client = TcpStream::connect(link.expect("a link")).await;
    let mut client = client.expect("a connection to the link");
    let (mut server, _) = listener.accept().await.expect("the link's connection");
    client.write_all(requests).await.expect("the link reads");
    let read = server.read_exact(&mut vec![0; requests.len()]).await;
    read.expect("the requests arrive");
    let (mut from, mut to) = match direction {
        Direction::Request => (client, server),
        Direction::Reply => (server, client),
    };
    let mut sent = Vec::new();
    let write = async {
        for piece in bytes.chunks(size.min(bytes.len().max(1))) {
            from.write_all(piece).await.expect("the link reads");
            tokio::task::yield_now().await;
        }
        from.shutdown().await.expect("the link is there");
    };
    let (read, ()) = tokio::join!(to.read_to_end(&mut sent), write);
    read.expect("the link ends in order");
    assert!(sent == bytes, "a link loses or changes no byte");
    proxy.close().await;
    let mut reading = Reading::default();
    for entry in proxy.log().entries() {
        // The link logs this before it forwards the complete frames.
        if entry.outcome == FrameOutcome::Unparseable {
            reading.why_raw = Some(entry.preview);
            continue;
        }
        reading.frames.push(Seen {
            direction: entry.direction,
            command: entry.command,
            names_key: entry.names_key,
            size: entry.size,
            preview: entry.preview,
        });
    }
    reading
}
