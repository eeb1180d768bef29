//! The TCP addresses that processes are connected to, from `/proc/PID/fd` and `/proc/net/tcp`.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use procfs_core::net::TcpState;

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
    // A socket in any other state neither has a peer nor is connecting to one.
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

/// Converts an IPv4-mapped IPv6 address to the IPv4 address.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_to_another_process_is_seen_but_not_to_itself() {
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
