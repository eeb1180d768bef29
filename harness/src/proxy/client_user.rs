//! Whose a client of the proxy is: the proxy forwards the commands of its own user only.
//!
//! The kernel is asked about the one connection, over netlink, because the answer then takes as long
//! with a thousand connections as with one. Where it does not answer there, `/proc/net/tcp` is read.

use std::io;
use std::net::SocketAddr;

use rustix::net::{RecvFlags, recv};
use tokio::net::TcpStream;

use super::connection_setup::beyond_setup;
use super::resource_exhaustion::{ProxyIncident, ProxyIncidents};

/// True for a client of our own user, on a link of this worker; another one is cut off. It may be the
/// worker's all the same, as where the adapter is started as somebody else: then the lock is not to
/// blame, so the refusal is noted.
pub(super) fn serves(
    client: &TcpStream,
    peer: SocketAddr,
    worker: usize,
    shortages: &ProxyIncidents,
) -> bool {
    let ours = client.local_addr();
    match ours.and_then(|ours| ClientUser::of(peer, ours)) {
        Ok(user) if user.may_enter() => return true,
        Ok(ClientUser::User(user)) => shortages.add(ProxyIncident::ClientRefused {
            worker,
            user,
            served: own(),
        }),
        // Nothing is lost of a client that gave up before it had said more than that it is there.
        Ok(ClientUser::Gone) => {
            if let Some(sent) = lost(client) {
                shortages.add(ProxyIncident::ClientGone { worker, sent });
            }
        }
        Err(error) => shortages.add(ProxyIncident::Exhausted(format!(
            "the kernel does not say whose a client on a link of worker {worker} is: {error}"
        ))),
    }
    // If this fails, the socket is closed in the ordinary way.
    let _ = client.set_zero_linger();
    false
}

/// What a client that is gone has sent and that may matter to others.
fn lost(client: &TcpStream) -> Option<String> {
    let mut bytes = vec![0; 4 << 10];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let count = recv(client, &mut bytes[..], flags).map_or(0, |(count, _)| count);
    let is_all = count < bytes.len();
    let beyond = beyond_setup(&bytes[..count]);
    // No client needs so much to set up a connection.
    beyond.or_else(|| (!is_all).then(|| "a lot".to_owned()))
}

/// Whose a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientUser {
    /// Its socket belongs to the user with this number.
    User(u32),
    /// Its socket is closed, and the kernel no longer knows whose it was.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux is asked")
    )]
    Gone,
}

impl ClientUser {
    /// Whose the client at this address is, of a connection that was accepted at `ours`.
    /// `Err`: the kernel does not say.
    #[cfg(target_os = "linux")]
    fn of(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
        asked(client, ours).or_else(|_| looked_up(client, ours))
    }

    /// Other systems have no such question: who can reach the port is served there, and docs/other-users.md says so.
    #[cfg(not(target_os = "linux"))]
    fn of(_: SocketAddr, _: SocketAddr) -> io::Result<ClientUser> {
        Ok(ClientUser::User(own()))
    }

    /// True where the client may be served: its user is the one that this process acts for, or root,
    /// from whom nothing can be hidden.
    fn may_enter(self) -> bool {
        matches!(self, ClientUser::User(user) if user == 0 || user == own())
    }
}

/// The user that this process acts for.
fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A socket without an inode belongs to no process any more, whatever its user number says.
#[cfg(target_os = "linux")]
fn known(user: u32, inode: u64) -> ClientUser {
    match inode {
        0 => ClientUser::Gone,
        _ => ClientUser::User(user),
    }
}

#[cfg(target_os = "linux")]
fn asked(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
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
    let words = question::about(client, ours);
    sendto(&kernel, &words, SendFlags::empty(), &to_kernel)?;
    let mut answer = [0; 512];
    let (length, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    question::answered(&answer[..length])
}

/// The question and its answer, as `linux/netlink.h` and `linux/inet_diag.h` lay them out.
#[cfg(target_os = "linux")]
mod question {
    use std::io;
    use std::net::SocketAddrV4;

    use rustix::io::Errno;

    use super::{ClientUser, known};

    const HEADER: usize = 16;
    const LENGTH: u32 = 72;
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const ERROR: u16 = 2;
    const INET: u8 = 2;
    const TCP: u8 = 6;
    const NO_COOKIE: [u8; 8] = [0xff; 8];
    /// Where user and inode stand in an answer.
    const USER: usize = HEADER + 64;
    const INODE: usize = HEADER + 68;

    /// Which socket has this address, and is connected to ours?
    pub(super) fn about(client: SocketAddrV4, ours: SocketAddrV4) -> Vec<u8> {
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
        // No interface in particular.
        bytes.extend([0; 4]);
        bytes.extend(NO_COOKIE);
        bytes
    }

    pub(super) fn answered(answer: &[u8]) -> io::Result<ClientUser> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let word = |at: usize| -> io::Result<[u8; 4]> {
            let bytes = answer.get(at..at + 4).ok_or_else(short)?;
            bytes.try_into().map_err(|_| short())
        };
        let [low, high, _, _] = word(4)?;
        match u16::from_ne_bytes([low, high]) {
            BY_FAMILY => {
                let user = u32::from_ne_bytes(word(USER)?);
                let inode = u32::from_ne_bytes(word(INODE)?);
                Ok(known(user, u64::from(inode)))
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
fn looked_up(client: SocketAddr, ours: SocketAddr) -> io::Result<ClientUser> {
    let mut table = std::fs::read_to_string("/proc/net/tcp")?;
    // A client may use a socket for both versions of the protocol. A kernel without IPv6 has no such
    // file.
    table.push_str(&std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default());
    Ok(found(&table, client, ours))
}

/// `0: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 UID 0 INODE ...`
#[cfg(target_os = "linux")]
fn found(table: &str, client: SocketAddr, ours: SocketAddr) -> ClientUser {
    let (client, ours) = (written(client), written(ours));
    let user = table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = |at: usize, names: &[String]| {
            let word = words.get(at);
            word.is_some_and(|word| names.iter().any(|name| name == word))
        };
        if !is_it(1, &client) || !is_it(2, &ours) {
            return None;
        }
        let inode = words.get(9)?.parse().ok()?;
        Some(known(words.get(7)?.parse().ok()?, inode))
    });
    user.unwrap_or(ClientUser::Gone)
}

/// An address as the kernel writes it: as one of IPv4, and as the same in a socket of IPv6.
#[cfg(target_os = "linux")]
fn written(address: SocketAddr) -> Vec<String> {
    use std::net::IpAddr;

    let port = address.port();
    match address.ip() {
        IpAddr::V4(ip) => {
            let word = u32::from_ne_bytes(ip.octets());
            let mark = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
            vec![
                format!("{word:08X}:{port:04X}"),
                format!("{:016X}{mark:08X}{word:08X}:{port:04X}", 0),
            ]
        }
        IpAddr::V6(_) => Vec::new(),
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// An accepted connection: the client's end, ours, and both addresses.
    fn connection() -> (TcpStream, TcpStream, [SocketAddr; 2]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let client = TcpStream::connect(ours).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        (client, accepted, [peer, ours])
    }

    #[test]
    fn our_own_client_is_known_in_both_ways() {
        let (_client, _accepted, [peer, ours]) = connection();
        let user = ClientUser::User(own());
        assert_eq!(asked(peer, ours).unwrap(), user);
        assert_eq!(looked_up(peer, ours).unwrap(), user);
        assert!(user.may_enter());
    }

    #[test]
    fn a_client_that_has_closed_its_socket_is_nobody_s() {
        let (client, _accepted, [peer, ours]) = connection();
        drop(client);
        assert_eq!(asked(peer, ours).unwrap(), ClientUser::Gone);
        assert_eq!(looked_up(peer, ours).unwrap(), ClientUser::Gone);
        assert!(!ClientUser::Gone.may_enter());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn another_user_is_told_from_another_client_of_the_same_port() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0200007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 12 1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 65534        0 13 1
   3: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0 7 0 14 1
   4: 0100007F:C352 0100007F:1F90 04 00000000:00000000 00:00000000 00000000     0        0 0 1
";
        let ours = "127.0.0.1:8080".parse().unwrap();
        let user = |client: &str| found(table, client.parse().unwrap(), ours);
        assert_eq!(user("127.0.0.1:50000"), ClientUser::User(65534));
        assert_eq!(user("127.0.0.2:50000"), ClientUser::User(1000));
        assert_eq!(user("127.0.0.1:50001"), ClientUser::User(7));
        assert_eq!(user("127.0.0.1:50002"), ClientUser::Gone, "closed");
        assert_eq!(user("127.0.0.1:50003"), ClientUser::Gone, "unknown");
        let stranger = own() + 1;
        assert!(!ClientUser::User(stranger).may_enter());
        assert!(ClientUser::User(0).may_enter(), "root sees everything");
    }
}
