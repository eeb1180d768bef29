//! Replaces the addresses that servers of a Redis Cluster name by those of one worker's links.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;

use super::scan::header;

/// From the address that servers name, `HOST:PORT`, to that of a worker's link.
pub(super) type ClusterMap = HashMap<String, SocketAddr>;

/// A whole reply with the addresses replaced that are in the map: in `MOVED` and `ASK`, and in the answers to
/// `CLUSTER SLOTS`, `SHARDS` and `NODES`.
pub(super) fn with_links<'a>(reply: &'a [u8], map: &ClusterMap) -> Cow<'a, [u8]> {
    match reply.first() {
        Some(b'-') => redirection(reply, map),
        Some(b'$' | b'=') => nodes(reply, map),
        Some(b'*' | b'%') => slots(reply, map),
        _ => None,
    }
    .map_or(Cow::Borrowed(reply), Cow::Owned)
}

/// `-MOVED 3999 127.0.0.1:6381`.
fn redirection(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(reply).ok()?.trim_end();
    let mut words = text.split(' ');
    let (code, slot, place) = (words.next()?, words.next()?, words.next()?);
    let link = map
        .get(place)
        .filter(|_| matches!(code, "-MOVED" | "-ASK"))?;
    Some(format!("{code} {slot} {link}\r\n").into_bytes())
}

/// A text with lines such as `ID 127.0.0.1:6381@16381,name master - 0 0 1 connected 0-5460`.
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
    changed.then(|| format!("${}\r\n{text}\r\n", text.len()).into_bytes())
}

/// One line of an array with what belongs to it: a length, a number, or a text with its length.
struct Item<'a> {
    whole: &'a [u8],
    text: &'a str,
}

/// An array with a host and a port beside each other, or as the values of `ip`, `endpoint` and `port`.
fn slots(reply: &[u8], map: &ClusterMap) -> Option<Vec<u8>> {
    let items = items(reply)?;
    let mut new: Vec<Option<String>> = items.iter().map(|_| None).collect();
    let text = |at: usize| items.get(at).map_or("", |item| item.text);
    for at in 0..items.len() {
        // In this order: port, number, ip, host, endpoint, host.
        let is_shard = (text(at), text(at + 2), text(at + 4)) == ("port", "ip", "endpoint");
        let (hosts, port): (&[usize], usize) = match is_shard {
            true => (&[at + 3, at + 5], at + 1),
            false => (&[at], at + 1),
        };
        let link = hosts
            .first()
            .and_then(|host| map.get(&format!("{}:{}", text(*host), text(port))));
        let Some(link) = link else { continue };
        for host in hosts {
            let ip = link.ip().to_string();
            new[*host] = Some(format!("${}\r\n{ip}\r\n", ip.len()));
        }
        new[port] = Some(match items[port].whole.first() {
            Some(b':') => format!(":{}\r\n", link.port()),
            _ => format!("${}\r\n{}\r\n", link.port().to_string().len(), link.port()),
        });
    }
    new.iter().any(Option::is_some).then(|| {
        let parts = items.iter().zip(&new);
        let parts = parts.flat_map(|(item, new)| new.as_ref().map_or(item.whole, String::as_bytes));
        parts.copied().collect()
    })
}

/// The lines of a whole array, at any depth.
fn items(reply: &[u8]) -> Option<Vec<Item<'_>>> {
    let (mut items, mut at) = (Vec::new(), 0);
    while at < reply.len() {
        let line_end = at + memchr::memmem::find(&reply[at..], b"\r\n")? + 2;
        let (text, end) = match reply[at] {
            b'$' | b'=' => match header(reply, at, "").ok()? {
                (length @ 0.., begin) => {
                    let end = begin + usize::try_from(length).ok()?;
                    (reply.get(begin..end)?, end + 2)
                }
                (_, begin) => (&reply[..0], begin),
            },
            _ => (&reply[at + 1..line_end - 2], line_end),
        };
        items.push(Item {
            whole: reply.get(at..end)?,
            text: std::str::from_utf8(text).unwrap_or_default(),
        });
        at = end;
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(before: &str, after: &str) {
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
        becomes(
            "-MOVED 3999 10.0.0.2:7002\r\n",
            "-MOVED 3999 127.0.0.1:40002\r\n",
        );
        becomes(
            "-ASK 3999 10.0.0.1:7001\r\n",
            "-ASK 3999 127.0.0.1:40001\r\n",
        );
        for same in [
            "-MOVED 3999 10.0.0.9:7002\r\n",
            "-ERR no 10.0.0.2:7002\r\n",
            "+OK\r\n",
            ":7001\r\n",
        ] {
            becomes(same, same);
        }
    }

    #[test]
    fn map_of_the_slots_has_the_links() {
        becomes(
            "*1\r\n*3\r\n:0\r\n:5460\r\n*4\r\n$8\r\n10.0.0.1\r\n:7001\r\n$2\r\nid\r\n*0\r\n",
            "*1\r\n*3\r\n:0\r\n:5460\r\n*4\r\n$9\r\n127.0.0.1\r\n:40001\r\n$2\r\nid\r\n*0\r\n",
        );
        becomes(
            "*8\r\n$4\r\nport\r\n:7002\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n$8\r\nendpoint\r\n$8\r\n10.0.0.2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
            "*8\r\n$4\r\nport\r\n:40002\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$8\r\nendpoint\r\n$9\r\n127.0.0.1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n",
        );
        let nothing = "*3\r\n$-1\r\n$1\r\na\r\n:1\r\n";
        becomes(nothing, nothing);
    }

    #[test]
    fn list_of_the_nodes_has_the_links() {
        let text = "a 10.0.0.1:7001@17001,x myself,master - 0 0 1 connected 0-5\nb 10.0.0.9:1@2 slave a 0 0 1 connected\n";
        let new = "a 127.0.0.1:40001@17001 myself,master - 0 0 1 connected 0-5\nb 10.0.0.9:1@2 slave a 0 0 1 connected\n";
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        becomes(&bulk(text), &bulk(new));
        becomes(&bulk("10.0.0.1:7001"), &bulk("10.0.0.1:7001"));
        becomes("$-1\r\n", "$-1\r\n");
    }
}
