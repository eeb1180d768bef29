//! The TCP sockets of this machine, from `/proc/net/tcp` and `/proc/net/tcp6`.

use std::io;

use procfs_core::net::{TcpNetEntries, TcpNetEntry};
use procfs_core::{ExplicitSystemInfo, FromReadSI};

/// System data for the parser, which uses only the byte order.
const SYSTEM: ExplicitSystemInfo = ExplicitSystemInfo {
    boot_time_secs: 0,
    ticks_per_second: 0,
    page_size: 0,
    is_little_endian: cfg!(target_endian = "little"),
};

/// Reads the sockets of IPv4.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn ip_v4_sockets() -> io::Result<Vec<TcpNetEntry>> {
    parse_sockets(&std::fs::read_to_string("/proc/net/tcp")?)
}

/// Reads the sockets of IPv6, which can also have connections over IPv4. A kernel without IPv6 has none.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn ip_v6_sockets() -> io::Result<Vec<TcpNetEntry>> {
    match std::fs::read_to_string("/proc/net/tcp6") {
        Ok(table) => parse_sockets(&table),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Parses a table of sockets that begins with a line of headings.
///
/// # Errors
/// Returns an error if the table does not have the form of `/proc/net/tcp`.
pub(crate) fn parse_sockets(table: &str) -> io::Result<Vec<TcpNetEntry>> {
    let entries = TcpNetEntries::from_read(table.as_bytes(), &SYSTEM);
    entries.map(|entries| entries.0).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let local = |address: &str| {
            let table = format!("headings\n0: {address} {address} 01 0:0 0:0 0 0 0 11 1\n");
            let sockets = parse_sockets(&table).ok()?;
            Some(sockets.first()?.local_address.to_string())
        };
        assert_eq!(local("0100007F:1F90").unwrap(), "127.0.0.1:8080");
        let mapped = "0000000000000000FFFF00000100007F:18EB";
        assert_eq!(local(mapped).unwrap(), "[::ffff:127.0.0.1]:6379");
        let loopback = "00000000000000000000000001000000:18EB";
        assert_eq!(local(loopback).unwrap(), "[::1]:6379");
        assert_eq!(local("0100007F"), None);
    }
}
