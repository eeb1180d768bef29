//! The worker's connections to real Redis nodes.

use std::sync::Arc;
use std::time::Duration;

use picklock_impls::Node;
use redis::ConnectionInfo;
use redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};

use super::reconnecting::{Origin, Reconnecting, connection_info};
use super::redirecting::Redirecting;
use super::subscription::subscribe;

/// URL scheme of a node whose master is found through Sentinels.
const SENTINEL_SCHEME: &str = "redis+sentinel://";

/// URL scheme of a Redis Cluster, followed by its masters.
const CLUSTER_SCHEME: &str = "redis+cluster://";

/// The error for a URL that is not the address of a Redis node.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{url}` is not the address of a Redis node: {source}; expected `redis://HOST:PORT`, `redis+sentinel://HOST:PORT,HOST:PORT,.../MASTER`, or `redis+cluster://HOST:PORT,HOST:PORT,...`"
)]
pub struct ConnectError {
    url: String,
    source: redis::RedisError,
}

/// Creates one connection per URL, to the server itself or to the master that the Sentinels report. A lock can open
/// more connections, and subscribe. Nothing is sent yet, because a node that is down must not prevent the worker
/// from starting. Each command opens the connection if necessary, fails after `timeout` at the latest, and is never
/// sent twice.
///
/// # Errors
/// Returns an error if a URL is not the address of a Redis node.
pub fn connect(urls: &[String], timeout: Duration) -> Result<Vec<Node>, ConnectError> {
    urls.iter()
        .map(|url| {
            if let Some(first) = url.strip_prefix(CLUSTER_SCHEME) {
                let first = first.split(',').next().unwrap_or_default().to_owned();
                return Ok(Node::opening(move || {
                    Redirecting::new(first.clone(), timeout)
                }));
            }
            let origin = Arc::new(origin(url).map_err(|source| ConnectError {
                url: url.clone(),
                source,
            })?);
            let node_origin = Arc::clone(&origin);
            let node = Node::opening(move || Reconnecting::new(Arc::clone(&node_origin), timeout));
            Ok(node.with_subscriptions(move |channel| {
                Box::pin(subscribe(Arc::clone(&origin), channel, timeout))
            }))
        })
        .collect()
}

fn origin(url: &str) -> redis::RedisResult<Origin> {
    let Some(sentinels) = url.strip_prefix(SENTINEL_SCHEME) else {
        return Ok(Origin::Server(redis::Client::open(connection_info(url)?)?));
    };
    let named = sentinels.split_once('/');
    let Some((hosts, master)) = named.filter(|(_, master)| !master.is_empty()) else {
        let what = "the name of the master is missing";
        return Err((redis::ErrorKind::InvalidClientConfig, what).into());
    };
    let sentinels: Vec<ConnectionInfo> = hosts
        .split(',')
        .map(|host| connection_info(&format!("redis://{host}")))
        .collect::<redis::RedisResult<_>>()?;
    let settings = sentinels
        .first()
        .map(ConnectionInfo::redis_settings)
        .cloned();
    let as_master = SentinelNodeConnectionInfo::default()
        .set_redis_connection_info(settings.unwrap_or_default());
    Ok(Origin::Sentinels {
        sentinel: Sentinel::build(sentinels)?.into(),
        master: master.to_owned(),
        as_master,
    })
}
