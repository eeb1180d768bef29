//! `servers`: the adapter connects only to the servers in `nodes`.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::{CheckEnd, Clients, Who, failed, not_offered, passed, passed_with};

pub(super) async fn only_the_given_server_is_used(clients: &mut Clients) -> CheckEnd {
    let grant = clients.take(Who::One).await?;
    let peers = clients.client(Who::One).await?.peers().await;
    clients.release(Who::One, &grant).await?;
    match peers {
        Ok(peers) => judge(clients.address, &peers),
        Err(error) => not_offered(format!("the connections cannot be listed here: {error}")),
    }
}

fn judge(given: SocketAddr, peers: &BTreeSet<SocketAddr>) -> CheckEnd {
    let others: Vec<String> = peers
        .iter()
        .filter(|peer| **peer != given)
        .map(ToString::to_string)
        .collect();
    if !others.is_empty() {
        return failed(format!(
            "it is connected to {}; use only the addresses in `nodes`",
            others.join(", ")
        ));
    }
    if peers.is_empty() {
        return passed_with("it keeps no connection open");
    }
    passed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::describe;

    #[test]
    fn connection_to_another_server_is_reported() {
        for (peers, expected) in [
            (vec!["127.0.0.1:7001"], "passed"),
            (vec![], "passed"),
            (
                vec!["127.0.0.1:7001", "127.0.0.1:6379"],
                "connected to 127.0.0.1:6379;",
            ),
        ] {
            let peers = peers.iter().map(|peer| peer.parse().unwrap()).collect();
            let message = describe(judge("127.0.0.1:7001".parse().unwrap(), &peers));
            assert!(message.contains(expected), "{message}");
        }
    }
}
