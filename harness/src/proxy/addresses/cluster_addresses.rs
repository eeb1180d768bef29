//! Replaces the addresses that Redis Cluster servers announce with the addresses of one worker's links.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;

use crate::proxy::addresses::address_rewrite::{Item, bulk_string, items, joined};
use crate::proxy::resp::scan::header;

/// Maps an address that servers announce (`HOST:PORT`) to the address of a worker's link.
pub(in crate::proxy) type ClusterMap = HashMap<String, SocketAddr>;

/// Returns a complete reply in which the addresses in the map are replaced: in `MOVED` and `ASK`, and in the replies to
/// `CLUSTER SLOTS`, `SHARDS` and `NODES`.
pub(in crate::proxy) fn with_links<'a>(reply: &'a [u8], map: &ClusterMap) -> Cow<'a, [u8]> {
    match reply.first() {
        _ if foreign_redirection(reply, map).is_some() => Some(FOREIGN.to_vec()),
        Some(b'-' | b'!') => redirection(reply, map),
        Some(b'$' | b'=') => nodes(reply, map),
        Some(b'*' | b'%') => slots(reply, map),
        _ => None,
    }
    .map_or(Cow::Borrowed(reply), Cow::Owned)
}

/// Returns the address of a redirection if none of the links leads to it. No client may follow such a redirection,
/// because the user has not agreed to that address, and the traffic would bypass the proxy.
pub(in crate::proxy) fn foreign_redirection<'a>(
    reply: &'a [u8],
    map: &ClusterMap,
) -> Option<Cow<'a, str>> {
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

/// Maximum number of bytes of an address.
const MAX_PLACE: usize = 300;

/// Replaces the address in an error such as `-MOVED 3999 127.0.0.1:6381`.
fn redirection(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let items = items(reply);
    let mut words = items.first()?.text().split(' ');
    let (code, slot, place) = (words.next()?, words.next()?, words.next()?);
    let link = map.get(place).filter(|_| matches!(code, "MOVED" | "ASK"))?;
    Some(format!("-{code} {slot} {link}\r\n").into_bytes())
}

/// Replaces the addresses in lines such as `ID 127.0.0.1:6381@16381,name master - 0 0 1 connected 0-5460`.
fn nodes(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let (_, begin) = header(reply, 0, "").ok()?;
    let text = std::str::from_utf8(reply.get(begin..reply.len().checked_sub(2)?)?).ok()?;
    let mut changed = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let mut words: Vec<Cow<'_, str>> = line.split(' ').map(Cow::Borrowed).collect();
        let place = words.get(1).and_then(|word| word.split_once('@'));
        let link = place.and_then(|(place, bus)| {
            let link = map.get(place)?;
            let bus = bus.split(',').next().unwrap_or_default();
            Some(format!("{link}@{bus}"))
        });
        if let Some(link) = link {
            words[1] = Cow::Owned(link);
            changed = true;
        }
        words.join(" ")
    });
    let text: String = lines.collect();
    changed.then(|| bulk_string(&text).into_bytes())
}

/// Replaces addresses in an array that contains an adjacent host and port, or values of `ip`, `endpoint` and `port`.
fn slots(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let items = items(reply);
    let mut new: Vec<Option<String>> = vec![None; items.len()];
    let text = |at: usize| items.get(at).map_or("", Item::text);
    for at in 0..items.len() {
        // The items of a shard are, in this order: `port`, the port, `ip`, the host, `endpoint`, the host.
        let is_shard = (text(at), text(at + 2), text(at + 4)) == ("port", "ip", "endpoint");
        let port = at + 1;
        let hosts: &[usize] = if is_shard { &[at + 3, at + 5] } else { &[at] };
        let place = format!("{}:{}", text(hosts[0]), text(port));
        let Some(link) = map.get(&place) else {
            continue;
        };
        // The shard of a server that breaks the protocol may end after `endpoint`.
        for host in hosts {
            if let Some(item) = new.get_mut(*host) {
                *item = Some(bulk_string(&link.ip().to_string()));
            }
        }
        new[port] = Some(match items[port].whole.first() {
            Some(b':') => format!(":{}\r\n", link.port()),
            _ => bulk_string(&link.port().to_string()),
        });
    }
    let is_new = new.iter().any(Option::is_some);
    is_new.then(|| joined(&items, &new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_rewritten(before: &str, after: &str) {
        let link = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let map = ClusterMap::from([
            ("10.0.0.1:7001".to_owned(), link(40001)),
            ("10.0.0.2:7002".to_owned(), link(40002)),
        ]);
        let got = with_links(before.as_bytes(), &map);
        assert_eq!(String::from_utf8_lossy(&got), after);
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
    fn node_list_contains_the_links() {
        let text = "a 10.0.0.1:7001@17001,x myself,master - 0 0 1 connected 0-5\nb 10.0.0.9:1@2 slave a 0 0 1 connected\n";
        let new = "a 127.0.0.1:40001@17001 myself,master - 0 0 1 connected 0-5\nb 10.0.0.9:1@2 slave a 0 0 1 connected\n";
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        assert_rewritten(&bulk(text), &bulk(new));
        assert_rewritten(&bulk("10.0.0.1:7001"), &bulk("10.0.0.1:7001"));
        assert_rewritten("$-1\r\n", "$-1\r\n");
    }
}
