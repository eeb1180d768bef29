//! Replies that list servers: `CLUSTER SLOTS`, `SHARDS`, `NODES` and `REPLICAS`, and descriptions with an address and a
//! port, as Sentinels send them.
//!
//! The address of a server of the run is replaced with that of the worker's link to it. Other servers, such as
//! replicas, are left out: the user has not agreed to their addresses, and traffic to them would bypass the proxy.
//! Other addresses in the description of a server, such as its host name, are left out, too.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::proxy::resp::reply_items::{Item, bulk_string, items};

/// Maps an address that servers announce (`HOST:PORT`) to that of a worker's link.
pub(in crate::proxy) type ClusterMap = HashMap<String, SocketAddr>;

/// Maximum number of bytes of an address.
pub(super) const MAX_PLACE: usize = 300;

/// The flags of servers in `CLUSTER NODES`.
const FLAGS: [&str; 10] = [
    "myself",
    "master",
    "slave",
    "replica",
    "fail?",
    "fail",
    "handshake",
    "noaddr",
    "nofailover",
    "noflags",
];

/// The fields with hosts in a description of a server.
const HOSTS: [&str; 3] = ["ip", "endpoint", "hostname"];

/// The fields with ports in a description of a server.
const PORTS: [&str; 2] = ["port", "tls-port"];

/// Number of words in a line of `CLUSTER NODES` before the slots of a master.
const WORDS_BEFORE_SLOTS: usize = 8;

/// An empty list, in place of a value that describes a foreign server.
const NOTHING: &[u8] = b"*0\r\n";

/// Returns a reply in which only servers of the run are listed, and the address of a master that was left out, if there
/// is one.
pub(super) fn with_known_servers(reply: &[u8], map: &ClusterMap) -> (Vec<u8>, Option<String>) {
    let items = items(reply);
    let mut rewriter = Rewriter {
        items: &items,
        map,
        foreign: None,
    };
    let (mut out, mut at) = (Vec::with_capacity(reply.len()), 0);
    while at < items.len() {
        if !rewriter.write(at, &mut out) {
            out.extend_from_slice(NOTHING);
        }
        at = rewriter.end(at);
    }
    (out, rewriter.foreign)
}

struct Rewriter<'a> {
    items: &'a [Item<'a>],
    map: &'a ClusterMap,
    /// The address of a master that is not one of the run's servers.
    foreign: Option<String>,
}

impl<'a> Rewriter<'a> {
    /// Writes a value, unless it describes a foreign server. Returns `true` if it was written.
    fn write(&mut self, at: usize, out: &mut Vec<u8>) -> bool {
        let item = &self.items[at];
        let Some(count) = child_count(item) else {
            match self.node_lines(item) {
                Some(lines) => out.extend_from_slice(bulk_string(&lines).as_bytes()),
                None => out.extend_from_slice(item.whole),
            }
            return true;
        };
        let values = self.values(at);
        if let Some(nodes) = self.nodes_of_slots(&values) {
            return self.write_slots(&values, &nodes, out);
        }
        if self.field(&values, &HOSTS).is_some() && self.field(&values, &PORTS).is_some() {
            return self.write_server(at, &values, out);
        }
        let is_list = matches!(item.whole.first(), Some(b'*' | b'~' | b'>'));
        let (mut inner, mut left_out) = (Vec::new(), 0);
        for child in self.children(at) {
            if self.write(child, &mut inner) {
                continue;
            }
            if is_list {
                left_out += 1;
            } else {
                inner.extend_from_slice(NOTHING);
            }
        }
        match left_out {
            0 => out.extend_from_slice(item.whole),
            _ => out.extend_from_slice(&head(item.whole[0], count - left_out)),
        }
        out.extend(inner);
        true
    }

    /// Writes a range of slots, unless its master is foreign. `nodes` has the position of each of its servers.
    fn write_slots(&mut self, values: &[usize], nodes: &[Vec<usize>], out: &mut Vec<u8>) -> bool {
        let links: Vec<Option<SocketAddr>> = nodes.iter().map(|node| self.link_of(node)).collect();
        if links.first().is_none_or(Option::is_none) {
            let place = nodes
                .first()
                .map(|node| (self.text(node[0]), self.text(node[1])));
            let (host, port) = place.unwrap_or_default();
            self.record_foreign(host, port);
            return false;
        }
        let known = links.iter().flatten().count();
        out.extend_from_slice(&head(b'*', 2 + known));
        for slot in &values[..2] {
            out.extend_from_slice(self.items[*slot].whole);
        }
        for (node, link) in nodes.iter().zip(links) {
            let Some(link) = link else { continue };
            out.extend_from_slice(&head(b'*', node.len().min(4)));
            out.extend_from_slice(bulk_string(&link.ip().to_string()).as_bytes());
            out.extend(self.port(node[1], link));
            if let Some(id) = node.get(2) {
                let id = self.text(*id);
                out.extend_from_slice(bulk_string(id).as_bytes());
            }
            // Further addresses of the server.
            if node.len() > 3 {
                out.extend_from_slice(NOTHING);
            }
        }
        true
    }

    /// Writes the description of a server by fields, unless it is foreign.
    fn write_server(&mut self, at: usize, values: &[usize], out: &mut Vec<u8>) -> bool {
        let fields = |names: &[&str]| -> Vec<&'a str> {
            let pairs = values.chunks_exact(2);
            let named = pairs.filter(|pair| names.contains(&self.text(pair[0])));
            named.map(|pair| self.text(pair[1])).collect()
        };
        let (hosts, ports) = (fields(&HOSTS), fields(&PORTS));
        let places = hosts
            .iter()
            .flat_map(|host| ports.iter().map(move |port| (host, port)));
        let link = places
            .clone()
            .find_map(|(host, port)| self.link(host, port));
        let Some(link) = link else {
            let place = places
                .map(|(host, port)| ((*host).to_owned(), (*port).to_owned()))
                .next();
            if fields(&["role"]) == ["master"]
                && let Some((host, port)) = place
            {
                self.record_foreign(&host, &port);
            }
            return false;
        };
        out.extend_from_slice(&head(
            self.items[at].whole[0],
            child_count(&self.items[at]).unwrap_or(0),
        ));
        for pair in values.chunks(2) {
            out.extend_from_slice(self.items[pair[0]].whole);
            let Some(value) = pair.get(1) else { continue };
            match self.text(pair[0]) {
                "hostname" => out.extend_from_slice(bulk_string("").as_bytes()),
                name if HOSTS.contains(&name) => {
                    out.extend_from_slice(bulk_string(&link.ip().to_string()).as_bytes());
                }
                name if PORTS.contains(&name) => out.extend(self.port(*value, link)),
                _ => {
                    if !self.write(*value, out) {
                        out.extend_from_slice(NOTHING);
                    }
                }
            }
        }
        true
    }

    /// Returns the text of `CLUSTER NODES` or `REPLICAS` with the servers of the run only, or `None` if the item is not
    /// such a text.
    fn node_lines(&mut self, item: &Item<'_>) -> Option<String> {
        let text = match item.whole.first()? {
            b'$' | b'+' => item.text(),
            // A verbatim string begins with its format.
            b'=' => item.text().get(4..)?,
            _ => return None,
        };
        if !text.split('\n').any(is_node_line) {
            return None;
        }
        let mut known = String::new();
        for line in text.split_inclusive('\n') {
            if !is_node_line(line) {
                known.push_str(line);
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let (place, bus) = words[1].split_once('@').unwrap_or((words[1], "0"));
            let place = place.split(',').next().unwrap_or_default();
            let (host, port) = place.rsplit_once(':').unwrap_or_default();
            if let Some(link) = self.link(host, port) {
                let bus = bus.split(',').next().unwrap_or_default();
                known.push_str(&format!(
                    "{} {link}@{bus} {}",
                    words[0],
                    words[2..].join(" ")
                ));
            } else if words[2].contains("master") && words.len() > WORDS_BEFORE_SLOTS {
                self.record_foreign(host, port);
            }
        }
        Some(known)
    }

    /// Returns the values of each server if these values are a range of slots: two numbers, and lists that begin with
    /// a host and a port.
    fn nodes_of_slots(&self, values: &[usize]) -> Option<Vec<Vec<usize>>> {
        let [from, to, nodes @ ..] = values else {
            return None;
        };
        let is_number = |at: usize| self.items[at].whole.starts_with(b":");
        if nodes.is_empty() || !is_number(*from) || !is_number(*to) {
            return None;
        }
        let server = |at: &usize| -> Option<Vec<usize>> {
            child_count(&self.items[*at])?;
            let node = self.values(*at);
            let [host, port, ..] = node[..] else {
                return None;
            };
            let is_port = is_number(port) || self.text(port).parse::<u16>().is_ok();
            (is_port && child_count(&self.items[host]).is_none()).then_some(node)
        };
        nodes.iter().map(server).collect()
    }

    /// Returns the value of the first of these fields that the values have, as names and values in turn.
    fn field(&self, values: &[usize], names: &[&str]) -> Option<usize> {
        let mut pairs = values.chunks_exact(2);
        let pair = pairs.find(|pair| names.contains(&self.text(pair[0])))?;
        Some(pair[1])
    }

    /// Returns the link to a server that is listed by host and port.
    fn link_of(&self, node: &[usize]) -> Option<SocketAddr> {
        self.link(self.text(node[0]), self.text(node[1]))
    }

    /// Returns the link to the server with this address. A server that does not know its own host leaves it out.
    fn link(&self, host: &str, port: &str) -> Option<SocketAddr> {
        let place = if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        let mut known = self.map.iter();
        match host {
            "" => known
                .find(|(known, _)| known.ends_with(&place))
                .map(|(_, link)| *link),
            _ => self.map.get(&place).copied(),
        }
    }

    /// Returns the port of the link, in the form of the value that it replaces.
    fn port(&self, at: usize, link: SocketAddr) -> Vec<u8> {
        match self.items[at].whole.first() {
            Some(b':') => format!(":{}\r\n", link.port()).into_bytes(),
            _ => bulk_string(&link.port().to_string()).into_bytes(),
        }
    }

    fn record_foreign(&mut self, host: &str, port: &str) {
        let place = format!("{host}:{port}");
        self.foreign
            .get_or_insert_with(|| place.chars().take(MAX_PLACE).collect());
    }

    /// Returns the text of a word or a line, or an empty string.
    fn text(&self, at: usize) -> &'a str {
        let item = &self.items[at];
        match item.whole.first() {
            Some(b'$') if item.is_word => item.text(),
            Some(b'+' | b':') => item.text(),
            _ => "",
        }
    }

    /// Returns the positions of the values of a list or a map, without attributes.
    fn values(&self, at: usize) -> Vec<usize> {
        let is_attribute = |child: &usize| self.items[*child].whole.starts_with(b"|");
        let children = self.children(at).into_iter();
        children.filter(|child| !is_attribute(child)).collect()
    }

    /// Returns the positions of everything inside a list or a map. An attribute precedes the value that it describes.
    fn children(&self, at: usize) -> Vec<usize> {
        let (mut children, mut next) = (Vec::new(), at + 1);
        let mut count = child_count(&self.items[at]).unwrap_or(0);
        while count > 0 && next < self.items.len() {
            children.push(next);
            count -= usize::from(!self.items[next].whole.starts_with(b"|"));
            next = self.end(next);
        }
        children
    }

    /// Returns the position after a value.
    fn end(&self, at: usize) -> usize {
        let (mut open, mut next) = (1, at);
        while open > 0 && next < self.items.len() {
            let item = &self.items[next];
            let is_inner_attribute = next > at && item.whole.starts_with(b"|");
            open -= usize::from(!is_inner_attribute);
            open += child_count(item).unwrap_or(0);
            next += 1;
        }
        next
    }
}

/// Returns `true` if this is a line of `CLUSTER NODES`: an id, an address, and flags.
fn is_node_line(line: &str) -> bool {
    let mut words = line.split(' ');
    let (_, place, flags) = (words.next(), words.next(), words.next());
    let flags = flags.map(str::trim_end).filter(|flags| !flags.is_empty());
    place.is_some_and(|place| place.contains(':'))
        && flags.is_some_and(|flags| flags.split(',').all(|flag| FLAGS.contains(&flag)))
}

/// Returns the number of values in a list, a map or an attribute, or `None` if the item is none of them.
fn child_count(item: &Item<'_>) -> Option<usize> {
    let pairs = match item.whole.first()? {
        b'*' | b'~' | b'>' => 1,
        b'%' | b'|' => 2,
        _ => return None,
    };
    let count = item.text().parse::<usize>().unwrap_or(0);
    Some(count.saturating_mul(pairs))
}

/// Returns the first line of a list or a map of `count` values.
fn head(kind: u8, count: usize) -> Vec<u8> {
    let count = match kind {
        b'%' => count / 2,
        _ => count,
    };
    format!("{}{count}\r\n", char::from(kind)).into_bytes()
}
