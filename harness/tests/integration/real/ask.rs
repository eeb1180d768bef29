//! Queries from the tests to a server, each over a separate connection.

use std::time::Duration;

use picklock_harness::servers::ServerAddress;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};

/// Timeout for servers that are not frozen. It is long enough for a very busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Timeout for servers that should be frozen. It is short because every passing test waits this long.
const FROZEN_PATIENCE: Duration = Duration::from_millis(300);

async fn connect(address: ServerAddress, within: Duration) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(within))
        .set_response_timeout(Some(within));
    let client = address.client().unwrap();
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

async fn query(address: ServerAddress, words: &[&str], within: Duration) -> RedisResult<String> {
    let mut connection = connect(address, within).await?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let answer: Option<String> = command.query_async(&mut connection).await?;
    Ok(answer.unwrap_or_else(|| "nil".into()))
}

/// Sends one command, which must be answered.
pub async fn ask(address: ServerAddress, words: &[&str]) -> String {
    query(address, words, PATIENCE).await.unwrap()
}

/// Sends one command, which must be answered, but not necessarily on the first connection: a Sentinel that makes a
/// server a replica closes the connections of its clients (`CLIENT KILL TYPE normal`). The command may be executed
/// several times.
pub async fn ask_while_roles_change(address: ServerAddress, words: &[&str]) -> String {
    loop {
        match query(address, words, PATIENCE).await {
            Ok(answer) => return answer,
            Err(error) if error.is_connection_dropped() || error.is_io_error() => {}
            Err(error) => panic!("{words:?}: {error}"),
        }
    }
}

/// Sets a key, and waits until `replicas` replicas have it. WAIT refers to the writes of its own connection, so both
/// commands use the same connection.
pub async fn set_with_replicas(master: ServerAddress, key: &str, value: &str, replicas: usize) {
    let mut connection = connect(master, 2 * PATIENCE).await.unwrap();
    let (_, acknowledged): (String, usize) = redis::pipe()
        .cmd("SET")
        .arg(&[key, value])
        .cmd("WAIT")
        .arg(replicas)
        .arg(PATIENCE.as_millis() as u64)
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(acknowledged, replicas);
}

/// Returns `true` if the server accepts the connection, or leaves it in its backlog, but does not answer.
pub async fn is_frozen(address: ServerAddress) -> bool {
    match query(address, &["PING"], FROZEN_PATIENCE).await {
        Ok(_) => false,
        Err(error) => error.is_timeout(),
    }
}

/// Returns `true` if the port refuses connections.
pub async fn is_refused(address: ServerAddress) -> bool {
    match tokio::net::TcpStream::connect(address.socket()).await {
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
    }
}

/// Returns the error with which a command or its connection is refused.
pub async fn refusal(address: ServerAddress, words: &[&str]) -> String {
    match query(address, words, PATIENCE).await {
        Ok(answer) => panic!("{words:?} was answered: {answer}"),
        Err(error) => error.to_string(),
    }
}
