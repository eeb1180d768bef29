//! Replaces the addresses that Sentinels announce with the addresses of one worker's links.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::proxy::resp::reply_items::{Item, bulk_string, items, joined};

/// Maps the address that Sentinels announce for a server to the address of a worker's link to that server.
pub type AddressMap = HashMap<SocketAddr, SocketAddr>;

/// Returns a reply or message of a Sentinel in which the addresses in the map are replaced. Sentinels write addresses
/// as adjacent host and port (`get-master-addr-by-name`), as fields (`masters`, `replicas`, `sentinels`), as one word
/// (the name of a replica), and within the text of a message (`+switch-master`).
pub fn rewrite_addresses(frame: &[u8], map: &AddressMap) -> Vec<u8> {
    let items = items(frame);
    let words = items.iter().filter(|item| item.is_word);
    let texts: Vec<&str> = words.map(Item::text).collect();
    let mut new = replaced(&texts, map);
    for (text, new) in texts.iter().zip(&mut new) {
        if new.is_none() && text.contains(' ') {
            *new = message(text, map);
        }
    }
    let mut new = new.into_iter();
    let mut new_items = Vec::with_capacity(items.len());
    for item in &items {
        let text = if item.is_word {
            new.next().flatten()
        } else {
            None
        };
        new_items.push(text.map(|text| bulk_string(&text)));
    }
    joined(&items, &new_items)
}

/// Returns the replacement of each word, or `None` for a word that stays.
fn replaced(words: &[&str], map: &AddressMap) -> Vec<Option<String>> {
    let mut new: Vec<Option<String>> = vec![None; words.len()];
    for (index, word) in words.iter().enumerate() {
        if let Some((port_at, link)) = host_and_port(index, words, map) {
            new[index] = Some(link.ip().to_string());
            new[port_at] = Some(link.port().to_string());
        } else if let Some(link) = word.parse().ok().and_then(|at: SocketAddr| map.get(&at)) {
            new[index] = Some(link.to_string());
        }
    }
    new
}

/// If this word is the host of a known address, returns the index of its port and the link's address.
fn host_and_port(index: usize, words: &[&str], map: &AddressMap) -> Option<(usize, SocketAddr)> {
    let host: IpAddr = words[index].parse().ok()?;
    [index + 1, index + 2].into_iter().find_map(|port_at| {
        let port = words.get(port_at)?.parse().ok()?;
        let link = map.get(&SocketAddr::new(host, port))?;
        Some((port_at, *link))
    })
}

/// Returns the text of a message with its addresses replaced, or `None` if it contains no known address.
fn message(text: &str, map: &AddressMap) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let new = replaced(&words, map);
    new.iter().any(Option::is_some).then(|| {
        let rewritten = words.iter().zip(&new);
        let rewritten: Vec<&str> = rewritten
            .map(|(word, new)| new.as_deref().unwrap_or(word))
            .collect();
        rewritten.join(" ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> AddressMap {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        HashMap::from([
            (at("172.17.0.2:6379"), at("127.0.0.1:40001")),
            (at("172.17.0.3:6379"), at("127.0.0.1:40002")),
            (at("127.0.0.1:7000"), at("127.0.0.1:40003")),
        ])
    }

    /// Returns an array of bulk strings.
    fn array(words: &[&str]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        bytes.into_bytes()
    }

    #[track_caller]
    fn assert_rewritten(before: &[&str], after: &[&str]) {
        let got = rewrite_addresses(&array(before), &addresses());
        assert_eq!(
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&array(after))
        );
    }

    #[test]
    fn address_in_two_words_is_replaced() {
        assert_rewritten(&["172.17.0.2", "6379"], &["127.0.0.1", "40001"]);
        assert_rewritten(&["127.0.0.1", "7000"], &["127.0.0.1", "40003"]);
    }

    #[test]
    fn fields_and_replica_name_are_replaced() {
        assert_rewritten(
            &[
                "name",
                "172.17.0.3:6379",
                "ip",
                "172.17.0.3",
                "port",
                "6379",
                "master-host",
                "172.17.0.2",
                "master-port",
                "6379",
            ],
            &[
                "name",
                "127.0.0.1:40002",
                "ip",
                "127.0.0.1",
                "port",
                "40002",
                "master-host",
                "127.0.0.1",
                "master-port",
                "40001",
            ],
        );
    }

    #[test]
    fn addresses_in_message_text_are_replaced() {
        assert_rewritten(
            &[
                "message",
                "+switch-master",
                "picklock-0 172.17.0.2 6379 172.17.0.3 6379",
            ],
            &[
                "message",
                "+switch-master",
                "picklock-0 127.0.0.1 40001 127.0.0.1 40002",
            ],
        );
    }

    #[test]
    fn unknown_address_stays() {
        for words in [
            &["172.17.0.9", "6379"][..],
            &["172.17.0.2", "6380"],
            &["ip", "172.17.0.2"],
            &["", "$3", "a b"],
        ] {
            assert_rewritten(words, words);
        }
        for frame in [
            &b"+PONG\r\n"[..],
            b"*-1\r\n",
            b"$-1\r\n",
            b":3\r\n",
            b"*0\r\n",
        ] {
            assert_eq!(rewrite_addresses(frame, &addresses()), frame);
        }
    }

    #[test]
    fn text_that_looks_like_a_bulk_string_stays() {
        let frames: [&[u8]; 3] = [
            b"*2\r\n+a\n$30\r\n$4\r\n7000\r\n",
            b"*2\r\n=25\r\ntxt:\r\n$14\r\n127.0.0.1:7000\r\n:1\r\n",
            b"!19\r\n$14\r\n127.0.0.1:7000\r\n",
        ];
        for frame in frames {
            let got = rewrite_addresses(frame, &addresses());
            assert_eq!(
                String::from_utf8_lossy(&got),
                String::from_utf8_lossy(frame)
            );
        }
        let before = "*2\r\n+a\n$30\r\n$14\r\n127.0.0.1:7000\r\n";
        let after = "*2\r\n+a\n$30\r\n$15\r\n127.0.0.1:40003\r\n";
        let got = rewrite_addresses(before.as_bytes(), &addresses());
        assert_eq!(String::from_utf8_lossy(&got), after);
    }

    #[test]
    fn nested_masters_are_replaced_in_either_protocol() {
        let inner = "$2\r\nip\r\n$10\r\n172.17.0.2\r\n$4\r\nport\r\n$4\r\n6379\r\n";
        let outer = "$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$5\r\n40001\r\n";
        for head in ["*1\r\n*4\r\n", "*1\r\n%2\r\n"] {
            let got = rewrite_addresses(format!("{head}{inner}").as_bytes(), &addresses());
            assert_eq!(String::from_utf8_lossy(&got), format!("{head}{outer}"));
        }
    }
}
