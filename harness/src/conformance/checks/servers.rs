//! `servers`: it talks to the servers that it was given, and to no others.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::{CheckEnd, Clients, Who, failed, not_offered, passed, passed_with};

pub(super) async fn only_the_given_server_is_used(clients: &mut Clients) -> CheckEnd {
    let grant = clients.take(Who::One).await?;
    let peers = clients.client(Who::One).await?.peers().await;
    clients.release(Who::One, &grant).await?;
    match peers {
        Ok(peers) => judge(clients.address, &peers),
        Err(error) => not_offered(format!("it cannot be seen here: {error}")),
    }
}

fn judge(given: SocketAddr, peers: &BTreeSet<SocketAddr>) -> CheckEnd {
    let others = peers.iter().filter(|peer| **peer != given);
    let others: Vec<String> = others.map(ToString::to_string).collect();
    if !others.is_empty() {
        return failed(format!(
            "it is connected to {}, which it was not given; use the addresses in `nodes`",
            others.join(", ")
        ));
    }
    match peers.is_empty() {
        true => passed_with("it keeps no connection open"),
        false => passed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::words;

    #[test]
    fn only_the_server_that_was_given_may_be_connected() {
        for (peers, expected) in [
            (vec!["127.0.0.1:7001"], "passed"),
            (vec![], "passed"),
            (
                vec!["127.0.0.1:7001", "127.0.0.1:6379"],
                "connected to 127.0.0.1:6379,",
            ),
        ] {
            let peers = peers.iter().map(|peer| peer.parse().unwrap()).collect();
            let told = words(judge("127.0.0.1:7001".parse().unwrap(), &peers));
            assert!(told.contains(expected), "{told}");
        }
    }
}
