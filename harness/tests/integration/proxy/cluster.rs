//! Links to servers that were running before, which may name any address.

use picklock_harness::proxy::ProxyIncident;

use super::client::Client;
use super::node::Stage;
use super::{LINK, proxy};

/// Returns a reply to `CLUSTER SLOTS` with one master.
fn slots(host: &str, port: u16) -> String {
    let length = host.len();
    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n${length}\r\n{host}\r\n:{port}\r\n$2\r\nid\r\n")
}

#[tokio::test]
async fn address_that_is_not_one_of_the_run_reaches_no_client() {
    let server = Stage::start().await;
    let proxy = proxy();
    let servers = [("10.255.0.1:7001".to_owned(), server.address())];
    let links = proxy.open_cluster(LINK, &servers).await.unwrap();
    let mut client = Client::connect(links[0]).await;
    let mut node = server.accept().await;
    let replies = [
        slots("10.255.0.1", 7001),
        slots("10.255.0.9", 7001),
        "-MOVED 1 10.255.0.9:7001\r\n".to_owned(),
    ];
    // The data of a lock, which happens to have the fields of a server.
    let hash = "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n$4\r\nport\r\n$4\r\n7001\r\n";
    client.send("HGETALL lock").await;
    node.exactly(27).await;
    node.write(hash.as_bytes()).await;
    assert_eq!(client.reply_bytes().await, hash.as_bytes());
    let mut received = Vec::new();
    for reply in &replies {
        client.send("CLUSTER SLOTS").await;
        node.exactly(28).await;
        node.write(reply.as_bytes()).await;
        received.push(String::from_utf8(client.reply_bytes().await).unwrap());
    }
    assert_eq!(received[0], slots("127.0.0.1", links[0].port()));
    assert_eq!(received[1], "*0\r\n");
    assert!(received[2].starts_with("-ERR PICKLOCK"), "{received:?}");
    let withheld = ProxyIncident::AddressWithheld {
        worker: 0,
        address: "10.255.0.9:7001".into(),
    };
    assert_eq!(proxy.take_incidents(), [withheld]);
}
