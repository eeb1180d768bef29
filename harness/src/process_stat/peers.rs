//! The TCP addresses that processes are connected to, from `/proc/PID/fd` and `/proc/net/tcp`.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

/// Socket states with a peer: established, and connecting.
const CONNECTED: [&str; 2] = ["01", "02"];

use super::tcp_sockets::{ip_v4_sockets, ip_v6_sockets};

/// Returns the addresses to which these processes are connected or connecting, except connections among themselves.
/// Processes that have exited are skipped.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn peers_of(pids: &[u32]) -> io::Result<BTreeSet<SocketAddr>> {
    let mut inodes = BTreeSet::new();
    for pid in pids {
        inodes.extend(socket_inodes(*pid));
    }
    let mut sockets = ip_v4_sockets()?;
    sockets.extend(ip_v6_sockets().unwrap_or_default());
    // A socket in any other state has no peer, and is not on the way to one.
    sockets.retain(|socket| {
        matches!(socket.state, TcpState::Established | TcpState::SynSent)
            && inodes.contains(&socket.inode)
    });
    let locals = sockets.iter().map(|socket| canonical(socket.local_address));
    let own: BTreeSet<SocketAddr> = locals.collect();
    let remotes = sockets
        .iter()
        .map(|socket| canonical(socket.remote_address));
    Ok(remotes.filter(|remote| !own.contains(remote)).collect())
}

/// An address of IPv4 as such, also if it belongs to a socket of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn socket_inodes(pid: u32) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let parse_inode = |link: std::path::PathBuf| {
        let text = link.to_str()?.strip_prefix("socket:[")?;
        text.strip_suffix(']')?.parse().ok()
    };
    links.filter_map(parse_inode).collect()
}

fn parse(table: &str) -> Vec<Socket> {
    table.lines().skip(1).filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    CONNECTED.contains(fields.get(3)?).then_some(())?;
    Some(Socket {
        local: address(fields.get(1)?)?,
        remote: address(fields.get(2)?)?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// Parses an address such as `0100007F:1F90`: four-byte words in this machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for start in (0..host.len()).step_by(8) {
        let word = u32::from_str_radix(host.get(start..start + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let host = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(host.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_of_proc_net_tcp_are_parsed() {
        let address = |text| address(text).map(|address| address.to_string());
        assert_eq!(address("0100007F:1F90").unwrap(), "127.0.0.1:8080");
        let mapped = "0000000000000000FFFF00000100007F:18EB";
        assert_eq!(address(mapped).unwrap(), "127.0.0.1:6379");
        let loopback = "00000000000000000000000001000000:18EB";
        assert_eq!(address(loopback).unwrap(), "[::1]:6379");
        assert_eq!(address("0100007F"), None);
    }

    #[test]
    fn connection_within_a_process_is_omitted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let _ours = std::net::TcpStream::connect(there).unwrap();
        let accepted = listener.accept().unwrap();
        let this = [std::process::id()];
        assert!(!peers_of(&this).unwrap().contains(&there));
        drop(accepted);
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{:04X}", there.port());
        assert!(table.contains(&port));
    }
}
