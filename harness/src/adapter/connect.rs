//! The worker's connections to real Redis nodes.

use std::sync::Arc;
use std::time::Duration;

use picklock_impls::Node;
use redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};
use redis::{ConnectionInfo, IntoConnectionInfo};

use super::reconnecting::{Origin, Reconnecting};

/// How the URL of a node begins whose master is asked of Sentinels.
const SENTINEL_SCHEME: &str = "redis+sentinel://";

/// Why there can be no connection, now or ever.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{url}` is no address of a Redis node: {source}; expected `redis://HOST:PORT`, or `redis+sentinel://HOST:PORT,HOST:PORT,.../MASTER`"
)]
pub struct ConnectError {
    url: String,
    source: redis::RedisError,
}

/// One connection for each URL, to the server itself or to the master that Sentinels name, and
/// others if the lock wants them. Nothing is sent yet: a node that is down must not keep the
/// worker from starting. Each command opens the connection if there is none, fails after
/// `timeout` at the latest, and is never sent twice.
///
/// # Errors
/// For a URL that names no Redis node.
pub fn connect(urls: &[String], timeout: Duration) -> Result<Vec<Node>, ConnectError> {
    urls.iter()
        .map(|url| {
            let origin = origin(url).map_err(|source| ConnectError {
                url: url.clone(),
                source,
            })?;
            let origin = Arc::new(origin);
            Ok(Node::opening(move || {
                Reconnecting::new(Arc::clone(&origin), timeout)
            }))
        })
        .collect()
}

fn origin(url: &str) -> redis::RedisResult<Origin> {
    let Some(sentinels) = url.strip_prefix(SENTINEL_SCHEME) else {
        return Ok(Origin::Server(redis::Client::open(info(url)?)?));
    };
    let (hosts, master) = match sentinels.split_once('/') {
        Some((hosts, master)) if !master.is_empty() => (hosts, master),
        _ => {
            let what = "the name of the master is missing";
            return Err((redis::ErrorKind::InvalidClientConfig, what).into());
        }
    };
    let sentinels = hosts
        .split(',')
        .map(|host| info(&format!("redis://{host}")));
    let sentinels: Vec<ConnectionInfo> = sentinels.collect::<redis::RedisResult<_>>()?;
    let settings = sentinels
        .first()
        .map(|first| first.redis_settings().clone());
    let as_master = SentinelNodeConnectionInfo::default()
        .set_redis_connection_info(settings.unwrap_or_default());
    Ok(Origin::Sentinels {
        sentinel: Sentinel::build(sentinels)?.into(),
        master: master.to_owned(),
        as_master,
    })
}

fn info(url: &str) -> redis::RedisResult<ConnectionInfo> {
    let info = url.into_connection_info()?;
    // The first command on the wire shall be the lock's own, not redis-rs's introduction.
    let settings = info.redis_settings().clone().set_skip_set_lib_name();
    Ok(info.set_redis_settings(settings))
}
