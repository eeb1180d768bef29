//! Replies of a node and of a Sentinel, each through a link.
//!
//! The input's first byte selects the pending requests; the rest is the reply bytes.

use picklock_harness::proxy::{AddressMap, ReplyStream, rewrite_addresses};
use picklock_scenarios::Direction;

use crate::one_direction::same_however_it_comes;

/// The pending requests.
const REQUESTS: [&[u8]; 6] = [
    b"",
    b"GET lock\r\nGET lock\r\nGET lock\r\nGET lock\r\nGET lock\r\nGET lock\r\n",
    b"SUBSCRIBE a b\r\nPSUBSCRIBE c\r\nUNSUBSCRIBE a\r\nUNSUBSCRIBE\r\nPING\r\nPING\r\n",
    b"HELLO 3\r\nSUBSCRIBE a\r\nGET lock\r\nUNSUBSCRIBE\r\nGET lock\r\nGET lock\r\n",
    b"CLIENT REPLY SKIP\r\nGET lock\r\nGET lock\r\nCLIENT REPLY OFF\r\nGET lock\r\nCLIENT REPLY ON\r\nGET lock\r\n",
    b"MULTI\r\nSET lock 1 NX PX 100\r\nEXEC\r\nEVALSHA 0 1 lock\r\nPSYNC ? -1\r\n",
];

/// Addresses that Sentinels announce, each with the address of a worker's link.
const ADDRESSES: [(&str, &str); 2] = [
    ("127.0.0.1:7000", "127.0.0.1:40003"),
    ("172.17.0.2:6379", "127.0.0.1:1"),
];

/// Reads replies at once and in pieces.
///
/// # Panics
/// Panics if a byte was lost or changed, if the parsed frames depend on how the bytes arrive, or if a reply is no
/// longer valid after its address was replaced.
pub fn run(input: &[u8]) {
    let Some((&choice, replies)) = input.split_first() else {
        return;
    };
    let asked = REQUESTS[usize::from(choice) % REQUESTS.len()];
    same_however_it_comes(Direction::Reply, asked, replies);
    from_a_sentinel(replies);
}

fn from_a_sentinel(replies: &[u8]) {
    let address = |text: &str| text.parse().expect("an address");
    let pairs = ADDRESSES.map(|(from, to)| (address(from), address(to)));
    let map: AddressMap = pairs.into_iter().collect();
    let (Ok(rewritten), Ok(same)) = (through(replies, &map), through(replies, &AddressMap::new()))
    else {
        return;
    };
    assert!(
        replies.starts_with(&same),
        "without an address nothing changes"
    );
    let again = through(&rewritten, &AddressMap::new()).expect("it is RESP still");
    assert!(again == rewritten, "a reply is not whole any more");
}

fn through(replies: &[u8], map: &AddressMap) -> Result<Vec<u8>, &'static str> {
    let mut stream = ReplyStream::default();
    stream.feed(replies);
    let mut passed = Vec::new();
    while let Some(reply) = stream.next_reply()? {
        passed.extend(rewrite_addresses(reply, map));
    }
    Ok(passed)
}
