//! Where the wire may lead.

use std::io;
use std::net::SocketAddr;

/// A run must not send anything to another machine.
pub(super) fn only_loopback(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{address} is not a loopback address; the wire only leads to this machine"),
    ))
}
