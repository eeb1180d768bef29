//! Reads from `/proc/net/tcp` how many bytes of the connections to some ports are still in the kernel.
//!
//! A client may have written bytes that the proxy has not received yet: they wait in the kernel for an acknowledgement,
//! or for space in the receive queue. They arrive even if no process of the client is running.

use std::collections::{HashMap, HashSet};
use std::io;

use procfs_core::net::TcpNetEntry;

use crate::process_stat::{ip_v4_sockets, ip_v6_sockets};

/// A connection, identified by the port on which the proxy listens and the client's port.
pub(super) type Ports = (u16, u16);

/// For each connection to some ports, the maximum number of bytes that the client may have written and the proxy has
/// not read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TcpQueues(HashMap<Ports, u64>);

impl TcpQueues {
    /// Reads the queues of the connections to these ports. They are upper bounds only if the client does not write in
    /// the meantime.
    ///
    /// # Errors
    /// Returns an error if `/proc` cannot be read.
    pub(super) fn read(ports: &HashSet<u16>) -> io::Result<TcpQueues> {
        // Read the send queues of the clients first, and then the receive queues of the proxy. In the other order,
        // bytes that arrive in between would be missing from both.
        let mut clients = ip_v4_sockets()?;
        // A client may use an IPv6 socket for an IPv4 connection.
        clients.extend(ip_v6_sockets()?);
        let ours = ip_v4_sockets()?;
        Ok(Self::from_sockets(ports, &clients, &ours))
    }

    /// Returns the bytes of this connection, or `None` if the connection did not exist.
    pub(super) fn unread(&self, connection: Ports) -> Option<u64> {
        self.0.get(&connection).copied()
    }

    fn from_sockets(
        ports: &HashSet<u16>,
        clients: &[TcpNetEntry],
        ours: &[TcpNetEntry],
    ) -> TcpQueues {
        let mut queues: HashMap<Ports, u64> = HashMap::new();
        for socket in clients {
            let (client, server) = (socket.local_address.port(), socket.remote_address.port());
            if ports.contains(&server) {
                let unacknowledged = queues.entry((server, client)).or_default();
                *unacknowledged = (*unacknowledged).max(socket.tx_queue.into());
            }
        }
        for socket in ours {
            let (server, client) = (socket.local_address.port(), socket.remote_address.port());
            // A listening socket has no remote port.
            if ports.contains(&server) && client != 0 {
                *queues.entry((server, client)).or_default() += u64::from(socket.rx_queue);
            }
        }
        TcpQueues(queues)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::process_stat::parse_sockets;

    #[test]
    fn both_ends_of_a_connection_count() {
        let text = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000010 00:00000000 00000000     0        0 2 1
   2: 0100007F:C350 0100007F:1F90 01 00000003:00000000 00:00000000 00000000     0        0 3 1
   3: 0100007F:C351 0100007F:1F91 01 00000009:00000000 00:00000000 00000000     0        0 4 1
   4: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1F90 02 00000001:00000000 00:00000000 00000000     0        0 5 1
";
        let sockets = parse_sockets(text).unwrap();
        let queues = TcpQueues::from_sockets(&HashSet::from([0x1f90]), &sockets, &sockets);
        assert_eq!(queues.unread((0x1f90, 0xc350)), Some(0x13));
        assert_eq!(queues.unread((0x1f90, 0xc352)), Some(1));
        assert_eq!(queues.0.len(), 2, "{queues:?}");
    }

    #[test]
    fn unaccepted_connection_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ports = HashSet::from([address.port()]);
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"PING\r\n").unwrap();
        let connection = (address.port(), client.local_addr().unwrap().port());
        let unread = TcpQueues::read(&ports).unwrap().unread(connection);
        // Until the acknowledgement has arrived, the kernel counts the bytes at both ends.
        assert!(matches!(unread, Some(6..=12)), "{unread:?}");
    }
}
