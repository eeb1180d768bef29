//! The worker's connections to real Redis nodes.

use std::time::Duration;

use picklock_impls::Node;
use redis::IntoConnectionInfo;

use super::reconnecting::Reconnecting;

/// Why there can be no connection, now or ever.
#[derive(Debug, thiserror::Error)]
#[error("`{url}` is no address of a Redis node: {source}; expected `redis://HOST:PORT`")]
pub struct ConnectError {
    url: String,
    source: redis::RedisError,
}

/// One connection for each URL, and others if the lock wants them. Nothing is sent yet: a node that is down must not keep the
/// worker from starting. Each command opens the connection if there is none, fails after
/// `timeout` at the latest, and is never sent twice.
///
/// # Errors
/// For a URL that names no Redis node.
pub fn connect(urls: &[String], timeout: Duration) -> Result<Vec<Node>, ConnectError> {
    urls.iter()
        .map(|url| {
            let client = client(url).map_err(|source| ConnectError {
                url: url.clone(),
                source,
            })?;
            Ok(Node::opening(move || {
                Reconnecting::new(client.clone(), timeout)
            }))
        })
        .collect()
}

fn client(url: &str) -> redis::RedisResult<redis::Client> {
    let info = url.into_connection_info()?;
    // The first command on the wire shall be the lock's own, not redis-rs's introduction.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    redis::Client::open(info.set_redis_settings(settings))
}
