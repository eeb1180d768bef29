//! The connection on which a server reports the commands that it executes (`MONITOR`) and the keys that it removes.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::stored_keys::ANSWER;
use crate::monitor_replay::{MonitorStream, ServerMessage};
use crate::servers::ServerAddress;

/// Connects to a server.
pub(super) async fn connected(address: ServerAddress) -> io::Result<TcpStream> {
    timeout(ANSWER, address.connect())
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Switches to RESP3, the only protocol in which one connection can both MONITOR and receive notifications.
const HELLO: &str = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";

/// Enables notifications for keys that the server removes.
const NOTIFY: &str =
    "*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$22\r\nnotify-keyspace-events\r\n$3\r\nExe\r\n";

/// Subscribes to these notifications.
const SUBSCRIBE: &str =
    "*3\r\n$10\r\nPSUBSCRIBE\r\n$22\r\n__keyevent@*__:expired\r\n$22\r\n__keyevent@*__:evicted\r\n";

/// Subscribes to the executed commands.
const MONITOR: &str = "*1\r\n$7\r\nMONITOR\r\n";

/// Opens a connection on which the server reports from now on. `is_ours` states that the server's settings may be
/// changed, and `is_notified` that it reports the keys that it removes.
pub(super) async fn open_report(
    address: ServerAddress,
    is_ours: bool,
    is_notified: bool,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let (mut reader, mut writer) = connected(address).await?.into_split();
    let notify = if is_ours { NOTIFY } else { "" };
    let subscribe = if is_notified { SUBSCRIBE } else { "" };
    let commands = [HELLO, notify, subscribe, MONITOR].concat();
    writer.write_all(commands.as_bytes()).await?;
    let mut stream = MonitorStream::default();
    let mut answers = Vec::new();
    let set_up = async {
        // `CONFIG SET` and `MONITOR` are answered with lines, the other commands with frames.
        while answers.len() < 1 + usize::from(is_ours) {
            // One byte at a time, because everything that follows belongs to the report.
            let mut byte = [0];
            reader.read_exact(&mut byte).await?;
            stream.feed(&byte);
            while let Some(answer) = stream.next_message().map_err(io::Error::other)? {
                answers.push(answer);
            }
        }
        Ok::<(), io::Error>(())
    };
    timeout(ANSWER, set_up)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let ok = ServerMessage::Answer("OK".into());
    if answers.iter().any(|answer| *answer != ok) {
        return Err(io::Error::other(format!(
            "the server at {address} does not report what it executes: {answers:?}"
        )));
    }
    Ok((reader, writer))
}
