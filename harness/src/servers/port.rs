use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A loopback port that stays reserved for a node for as long as this value lives, even while the
/// node is down.
///
/// The socket is bound and never listens, so connections are refused while there is no server. The
/// kernel does not give the port to a program that asks for any free port. The server itself can
/// bind it, because both sockets allow the address to be reused and only the server's listens.
#[derive(Debug)]
pub(super) struct ReservedPort {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl ReservedPort {
    /// Any free port.
    pub(super) fn any() -> io::Result<ReservedPort> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(ReservedPort {
            address: socket.local_addr()?,
            _socket: socket,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}
