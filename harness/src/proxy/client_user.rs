//! Identifies the user that a client belongs to. The proxy forwards only the commands of its own user.
//!
//! The proxy queries the kernel for one connection over netlink, which does not take longer if there are a thousand
//! connections. If netlink does not answer, it reads `/proc/net/tcp`.

use std::io;
use std::net::SocketAddr;

#[cfg(target_os = "linux")]
use procfs_core::net::TcpNetEntry;
use rustix::net::{RecvFlags, recv};
use tokio::net::TcpStream;

use super::connection_setup::first_command_beyond_setup;
use super::incidents::{ProxyIncident, ProxyIncidents};
#[cfg(target_os = "linux")]
use crate::process_stat::{ip_v4_sockets, ip_v6_sockets};

/// Returns `true` if the client, on a link of `worker`, belongs to the user of this process. Otherwise resets the
/// connection and records an incident, because the client may still belong to the worker, for example if the adapter
/// runs as another user. The lock must then not be blamed.
pub(super) fn admits(
    client: &TcpStream,
    peer: SocketAddr,
    worker: usize,
    incidents: &ProxyIncidents,
) -> bool {
    let user = client
        .local_addr()
        .and_then(|ours| ClientUser::look_up(peer, ours));
    match user {
        Ok(user) if user.is_admitted() => return true,
        Ok(ClientUser::User(user)) => incidents.add(ProxyIncident::ClientRefused {
            worker,
            user,
            served: own_user(),
        }),
        // A client that disconnected before it sent a command has lost nothing.
        Ok(ClientUser::Gone) => {
            if let Some(sent) = unserved_command(client) {
                incidents.add(ProxyIncident::ClientGone { worker, sent });
            }
        }
        Err(error) => incidents.add(ProxyIncident::Exhausted(format!(
            "the kernel does not report the user of a program on the link of client {worker}: {error}"
        ))),
    }
    // If this fails, the socket is closed without a reset.
    let _ = client.set_zero_linger();
    false
}

/// Returns `true` if a client of a port that is not a link belongs to the user of this process, or to root.
pub fn is_own_user(client: &TcpStream, peer: SocketAddr) -> bool {
    let user = client.local_addr();
    let user = user.and_then(|ours| ClientUser::look_up(peer, ours));
    user.is_ok_and(ClientUser::is_admitted)
}

/// Returns the first command of a disconnected client that may affect other clients, or `None` if there is none.
fn unserved_command(client: &TcpStream) -> Option<String> {
    let mut bytes = vec![0; 4 << 10];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let count = recv(client, &mut bytes[..], flags).map_or(0, |(count, _)| count);
    first_command_beyond_setup(&bytes[..count])
        // The setup of a connection never needs that many bytes.
        .or_else(|| (count == bytes.len()).then(|| "a lot".to_owned()))
}

/// The user that a client belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientUser {
    /// The user ID that owns the client's socket.
    User(u32),
    /// The client's socket is closed, and the kernel no longer reports its user.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux is queried")
    )]
    Gone,
}

impl ClientUser {
    /// Looks up the user of the client at this address, whose connection was accepted at the address `ours`.
    ///
    /// # Errors
    /// Returns an error if the kernel does not report the user.
    #[cfg(target_os = "linux")]
    fn look_up(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
        query_netlink(client, ours).or_else(|_| read_proc(client, ours))
    }

    /// Returns the user of this process. Other systems have no such query, so every client that reaches the port is
    /// served, as docs/other-users.md states.
    #[cfg(not(target_os = "linux"))]
    fn look_up(_: SocketAddr, _: SocketAddr) -> io::Result<ClientUser> {
        Ok(ClientUser::User(own_user()))
    }

    /// Returns `true` if the client may be served: its user is the user of this process, or root, which can read
    /// everything anyway.
    fn is_admitted(self) -> bool {
        matches!(self, ClientUser::User(user) if user == 0 || user == own_user())
    }
}

/// Returns the effective user ID of this process.
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the owner of a socket. A socket without an inode is closed and no longer has an owner, whatever its user ID
/// is.
#[cfg(target_os = "linux")]
fn owner_of_socket(user: u32, inode: u64) -> ClientUser {
    if inode == 0 {
        ClientUser::Gone
    } else {
        ClientUser::User(user)
    }
}

#[cfg(target_os = "linux")]
fn query_netlink(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
    use rustix::net::{
        AddressFamily, SendFlags, SocketFlags, SocketType, netlink, sendto, socket_with,
    };

    let (SocketAddr::V4(client), SocketAddr::V4(ours)) = (client, ours) else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
    let to_kernel = netlink::SocketAddrNetlink::new(0, 0);
    let request = sock_diag::request(client, ours);
    sendto(&kernel, &request, SendFlags::empty(), &to_kernel)?;
    let mut reply = [0; 512];
    let (length, _) = recv(&kernel, &mut reply, RecvFlags::empty())?;
    sock_diag::parse_reply(&reply[..length])
}

/// The request and its reply, as `linux/netlink.h` and `linux/inet_diag.h` define them.
#[cfg(target_os = "linux")]
mod sock_diag {
    use std::io;
    use std::net::SocketAddrV4;

    use rustix::io::Errno;

    use super::{ClientUser, owner_of_socket};

    const HEADER: usize = 16;
    const LENGTH: u32 = 72;
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const ERROR: u16 = 2;
    const INET: u8 = 2;
    const TCP: u8 = 6;
    const NO_COOKIE: [u8; 8] = [0xff; 8];
    /// Offsets of the user ID and the inode in a reply.
    const USER: usize = HEADER + 64;
    const INODE: usize = HEADER + 68;

    /// Returns a request for the socket that has the address `client` and is connected to `ours`.
    pub(super) fn request(client: SocketAddrV4, ours: SocketAddrV4) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(LENGTH.to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend(REQUEST.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([INET, TCP, 0, 0]);
        bytes.extend(u32::MAX.to_ne_bytes());
        bytes.extend(client.port().to_be_bytes());
        bytes.extend(ours.port().to_be_bytes());
        for address in [client, ours] {
            bytes.extend(address.ip().octets());
            bytes.extend([0; 12]);
        }
        // The connection may use any interface.
        bytes.extend([0; 4]);
        bytes.extend(NO_COOKIE);
        bytes
    }

    pub(super) fn parse_reply(reply: &[u8]) -> io::Result<ClientUser> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let word = |at: usize| -> io::Result<[u8; 4]> {
            let bytes = reply.get(at..at + 4).ok_or_else(short)?;
            bytes.try_into().map_err(|_| short())
        };
        let [low, high, _, _] = word(4)?;
        match u16::from_ne_bytes([low, high]) {
            BY_FAMILY => {
                let user = u32::from_ne_bytes(word(USER)?);
                let inode = u32::from_ne_bytes(word(INODE)?);
                Ok(owner_of_socket(user, u64::from(inode)))
            }
            ERROR => {
                let errno = i32::from_ne_bytes(word(HEADER)?).saturating_neg();
                match Errno::from_raw_os_error(errno) {
                    Errno::NOENT => Ok(ClientUser::Gone),
                    errno => Err(errno.into()),
                }
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(target_os = "linux")]
fn read_proc(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
    let mut sockets = ip_v4_sockets()?;
    // A client may use an IPv6 socket for an IPv4 connection.
    sockets.extend(ip_v6_sockets().unwrap_or_default());
    Ok(found(&sockets, client, ours))
}

#[cfg(target_os = "linux")]
fn found(sockets: &[TcpNetEntry], client: SocketAddr, ours: SocketAddr) -> ClientUser {
    let is = |one: SocketAddr, other: SocketAddr| {
        one.ip().to_canonical() == other.ip() && one.port() == other.port()
    };
    let socket = sockets
        .iter()
        .find(|socket| is(socket.local_address, client) && is(socket.remote_address, ours));
    socket.map_or(ClientUser::Gone, |socket| {
        owner_of_socket(socket.uid, socket.inode)
    })
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::process_stat::parse_sockets;

    /// Returns the client's end and the server's end of an accepted connection, and both addresses.
    fn connection() -> (TcpStream, TcpStream, [SocketAddr; 2]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        (client, accepted, [peer, ours])
    }

    #[test]
    fn own_client_is_identified_both_ways() {
        let (_client, _accepted, [peer, ours]) = connection();
        let user = ClientUser::User(own_user());
        assert_eq!(query_netlink(peer, ours).unwrap(), user);
        assert_eq!(read_proc(peer, ours).unwrap(), user);
        assert!(user.is_admitted());
    }

    #[test]
    fn client_with_closed_socket_is_gone() {
        let (client, _accepted, [peer, ours]) = connection();
        drop(client);
        assert_eq!(query_netlink(peer, ours).unwrap(), ClientUser::Gone);
        assert_eq!(read_proc(peer, ours).unwrap(), ClientUser::Gone);
        assert!(!ClientUser::Gone.is_admitted());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn user_is_found_by_both_addresses() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0200007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12 1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 65534        0 13 1
   3: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0 7 0 14 1
   4: 0100007F:C352 0100007F:1F90 04 00000000:00000000 00:00000000 00000000     0        0 0 1
";
        let ours = "127.0.0.1:8080".parse().unwrap();
        let sockets = parse_sockets(table).unwrap();
        let user = |client: &str| found(&sockets, client.parse().unwrap(), ours);
        assert_eq!(user("127.0.0.1:50000"), ClientUser::User(65534));
        assert_eq!(user("127.0.0.2:50000"), ClientUser::User(1000));
        assert_eq!(user("127.0.0.1:50001"), ClientUser::User(7));
        assert_eq!(user("127.0.0.1:50002"), ClientUser::Gone, "closed");
        assert_eq!(user("127.0.0.1:50003"), ClientUser::Gone, "unknown");
        let other_user = own_user() + 1;
        assert!(!ClientUser::User(other_user).is_admitted());
        assert!(ClientUser::User(0).is_admitted(), "root sees everything");
    }
}
