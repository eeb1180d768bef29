//! Replaces the addresses that Redis Cluster servers announce with the addresses of one worker's links.

use std::borrow::Cow;

use crate::proxy::addresses::cluster_topology::{ClusterMap, MAX_PLACE, with_known_servers};
use crate::proxy::resp::reply_items::{Item, items};

/// Returns a complete reply in which the addresses of the run's servers are replaced by the addresses of the links, in
/// `MOVED` and `ASK` and, if `lists_servers` is set, in lists of servers. Also returns the address of a foreign server
/// to which a redirection leads or which is listed as a master.
pub(in crate::proxy) fn with_links<'a>(
    reply: &'a [u8],
    map: &ClusterMap,
    lists_servers: bool,
) -> (Cow<'a, [u8]>, Option<String>) {
    if let Some(place) = foreign_redirection(reply, map) {
        return (Cow::Borrowed(FOREIGN), Some(place.into_owned()));
    }
    match reply.first() {
        Some(b'-' | b'!') => {
            let redirected = redirection(reply, map);
            (redirected.map_or(Cow::Borrowed(reply), Cow::Owned), None)
        }
        // A number or a short line lists no server.
        Some(b':' | b'#' | b',' | b'_') => (Cow::Borrowed(reply), None),
        _ if !lists_servers => (Cow::Borrowed(reply), None),
        _ => {
            let (known, foreign) = with_known_servers(reply, map);
            (Cow::Owned(known), foreign)
        }
    }
}

/// Returns the address of a redirection if none of the links leads to it. No client may follow such a redirection,
/// because the user has not agreed to that address, and the traffic would bypass the proxy.
fn foreign_redirection<'a>(reply: &'a [u8], map: &ClusterMap) -> Option<Cow<'a, str>> {
    items(reply).iter().find_map(|item| {
        let place = redirection_place(item)?;
        let place = String::from_utf8_lossy(&place[..place.len().min(MAX_PLACE)]);
        (!map.contains_key(&*place)).then_some(place)
    })
}

/// Returns the address in an error that is a redirection. The item may be at any place of a reply, because clients also
/// follow redirections within an array or after an attribute. RESP3 also has errors with a length.
fn redirection_place<'a>(item: &Item<'a>) -> Option<&'a [u8]> {
    let is_error = matches!(item.whole.first(), Some(b'-' | b'!'));
    let is_redirection = item.bytes.starts_with(b"MOVED ") || item.bytes.starts_with(b"ASK ");
    let mut words = item.bytes.split(u8::is_ascii_whitespace);
    (is_error && is_redirection).then(|| words.nth(2).unwrap_or_default())
}

/// The reply that replaces a redirection to a foreign address.
const FOREIGN: &[u8] =
    b"-ERR PICKLOCK the server redirects to an address that is not one of the run\r\n";

/// Replaces the address in an error such as `-MOVED 3999 127.0.0.1:6381`.
fn redirection(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let items = items(reply);
    let mut words = items.first()?.text().split(' ');
    let (code, slot, place) = (words.next()?, words.next()?, words.next()?);
    let link = map.get(place).filter(|_| matches!(code, "MOVED" | "ASK"))?;
    Some(format!("-{code} {slot} {link}\r\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[track_caller]
    fn assert_rewritten(before: &str, after: &str) {
        rewritten(before, after);
    }

    /// Asserts what becomes of a reply, and returns the foreign address in it.
    #[track_caller]
    fn rewritten(before: &str, after: &str) -> Option<String> {
        let link = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let map = ClusterMap::from([
            ("10.0.0.1:7001".to_owned(), link(40001)),
            ("10.0.0.2:7002".to_owned(), link(40002)),
        ]);
        let (got, foreign) = with_links(before.as_bytes(), &map, true);
        assert_eq!(String::from_utf8_lossy(&got), after);
        foreign
    }

    #[test]
    fn redirection_leads_to_the_link() {
        assert_rewritten(
            "-MOVED 3999 10.0.0.2:7002\r\n",
            "-MOVED 3999 127.0.0.1:40002\r\n",
        );
        assert_rewritten(
            "-ASK 3999 10.0.0.1:7001\r\n",
            "-ASK 3999 127.0.0.1:40001\r\n",
        );
        assert_rewritten(
            "!24\r\nMOVED 3999 10.0.0.2:7002\r\n",
            "-MOVED 3999 127.0.0.1:40002\r\n",
        );
        for foreign in [
            "-MOVED 3999 10.0.0.9:7002\r\n",
            "-ASK 3999 :7002\r\n",
            "!24\r\nMOVED 3999 10.0.0.9:7002\r\n",
            "*2\r\n:1\r\n-MOVED 3999 10.0.0.9:7002\r\n",
            "|1\r\n+a\r\n+b\r\n-MOVED 3999 10.0.0.9:7002\r\n",
            "-MOVED 3999  10.0.0.2:7002\r\n",
            "-MOVED 3999\r\n",
        ] {
            assert_rewritten(foreign, std::str::from_utf8(FOREIGN).unwrap());
        }
        for same in ["-ERR no 10.0.0.2:7002\r\n", "+OK\r\n", ":7001\r\n"] {
            assert_rewritten(same, same);
        }
    }

    #[test]
    fn slots_and_shards_contain_the_links() {
        assert_rewritten(
            "*1\r\n*3\r\n:0\r\n:5460\r\n*4\r\n$8\r\n10.0.0.1\r\n:7001\r\n$2\r\nid\r\n*0\r\n",
            "*1\r\n*3\r\n:0\r\n:5460\r\n*4\r\n$9\r\n127.0.0.1\r\n:40001\r\n$2\r\nid\r\n*0\r\n",
        );
        assert_rewritten(
            "*8\r\n$4\r\nport\r\n:7002\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n$8\r\nendpoint\r\n$8\r\n10.0.0.2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
            "*8\r\n$4\r\nport\r\n:40002\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$8\r\nendpoint\r\n$9\r\n127.0.0.1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
        );
        let nothing = "*3\r\n$-1\r\n$1\r\na\r\n:1\r\n";
        assert_rewritten(nothing, nothing);
    }

    #[test]
    fn shard_without_endpoint_value_contains_the_link() {
        assert_rewritten(
            "*5\r\n$4\r\nport\r\n:7002\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n$8\r\nendpoint\r\n",
            "*5\r\n$4\r\nport\r\n:40002\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$8\r\nendpoint\r\n",
        );
    }

    #[test]
    fn node_list_contains_the_links_and_no_other_server() {
        let mine = "a 10.0.0.1:7001@17001,x myself,master - 0 0 1 connected 0-5\n";
        let link = "a 127.0.0.1:40001@17001 myself,master - 0 0 1 connected 0-5\n";
        let replica = "b 10.0.0.9:1@2 slave a 0 0 1 connected\n";
        let master = "c 10.0.0.8:1@2 master - 0 0 1 connected 6-9\n";
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let before = format!("{mine}{replica}");
        assert_eq!(rewritten(&bulk(&before), &bulk(link)), None);
        let before = format!("{mine}{master}");
        let foreign = Some("10.0.0.8:1".to_owned());
        assert_eq!(rewritten(&bulk(&before), &bulk(link)), foreign);
        let verbatim = format!("={}\r\ntxt:{mine}\r\n", mine.len() + 4);
        assert_rewritten(&verbatim, &bulk(link));
        let listed = |lines: &str| format!("*1\r\n{}", bulk(lines));
        assert_rewritten(&listed(replica), &listed(""));
        for same in ["10.0.0.1:7001", "a b:1@2 c", "a 10.0.0.9:1 x,master"] {
            assert_rewritten(&bulk(same), &bulk(same));
        }
        assert_rewritten("$-1\r\n", "$-1\r\n");
    }

    #[test]
    fn foreign_servers_are_left_out_of_slots() {
        let node = |host: &str, port: u16| {
            format!("*3\r\n${}\r\n{host}\r\n:{port}\r\n$2\r\nid\r\n", host.len())
        };
        let range = |nodes: &[String]| {
            let count = 2 + nodes.len();
            format!("*{count}\r\n:0\r\n:5460\r\n{}", nodes.concat())
        };
        let (mine, link) = (node("10.0.0.1", 7001), node("127.0.0.1", 40001));
        let foreign = node("10.0.0.9", 7001);
        let slots = |ranges: &[String]| format!("*{}\r\n{}", ranges.len(), ranges.concat());
        let with_replica = slots(&[range(&[mine.clone(), foreign.clone()])]);
        let without = slots(&[range(std::slice::from_ref(&link))]);
        assert_eq!(rewritten(&with_replica, &without), None);
        let with_master = slots(&[
            range(&[foreign.clone(), mine.clone()]),
            range(std::slice::from_ref(&mine)),
        ]);
        let place = Some("10.0.0.9:7001".to_owned());
        assert_eq!(rewritten(&with_master, &without), place);
        // A part of a transaction, behind an attribute, and with further addresses of a known server.
        let attribute = "|1\r\n+a\r\n+b\r\n";
        let hidden = format!("*2\r\n+OK\r\n{attribute}{with_master}");
        assert_eq!(
            rewritten(&hidden, &format!("*2\r\n+OK\r\n{attribute}{without}")),
            place
        );
        let named =
            "*4\r\n$8\r\n10.0.0.1\r\n:7001\r\n$2\r\nid\r\n*2\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n";
        let bare = "*4\r\n$9\r\n127.0.0.1\r\n:40001\r\n$2\r\nid\r\n*0\r\n";
        assert_rewritten(&range(&[named.into()]), &range(&[bare.into()]));
        // A server that does not know its own host.
        let unnamed = "*3\r\n$-1\r\n:7001\r\n$2\r\nid\r\n";
        assert_rewritten(&range(&[unnamed.into()]), &range(&[link]));
    }

    #[test]
    fn foreign_servers_are_left_out_of_shards_and_sentinel_lists() {
        let server = |host: &str, port: u16, role: &str| {
            format!(
                "*6\r\n$4\r\nrole\r\n${}\r\n{role}\r\n$8\r\nendpoint\r\n${}\r\n{host}\r\n$8\r\ntls-port\r\n:{port}\r\n",
                role.len(),
                host.len()
            )
        };
        let (mine, link) = (
            server("10.0.0.1", 7001, "master"),
            server("127.0.0.1", 40001, "master"),
        );
        let replica = server("10.0.0.9", 1, "replica");
        let master = server("10.0.0.9", 1, "master");
        assert_eq!(
            rewritten(&format!("*2\r\n{mine}{replica}"), &format!("*1\r\n{link}")),
            None
        );
        let place = Some("10.0.0.9:1".to_owned());
        assert_eq!(
            rewritten(&format!("*2\r\n{master}{mine}"), &format!("*1\r\n{link}")),
            place
        );
        let sentinel = "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n$4\r\nport\r\n$4\r\n6379\r\n";
        assert_rewritten(&format!("*1\r\n{sentinel}"), "*0\r\n");
        assert_rewritten(sentinel, "*0\r\n");
    }
}
