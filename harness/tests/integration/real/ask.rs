//! What the tests ask a server, over a connection of their own each time.

use std::time::Duration;

use picklock_harness::servers::ServerAddress;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult};

/// Long enough for any server that is not frozen, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Short, because it is always waited for in full.
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

/// One command, which must be answered.
pub async fn ask(address: ServerAddress, words: &[&str]) -> String {
    query(address, words, PATIENCE).await.unwrap()
}

/// One command, which must be answered, though not on the first connection: a Sentinel that makes a server a
/// replica ends the connections of its clients (`CLIENT KILL TYPE normal`). It must not matter how often it is
/// executed.
pub async fn ask_while_roles_change(address: ServerAddress, words: &[&str]) -> String {
    loop {
        match query(address, words, PATIENCE).await {
            Ok(answer) => return answer,
            Err(error) if error.is_connection_dropped() || error.is_io_error() => {}
            Err(error) => panic!("{words:?}: {error}"),
        }
    }
}

/// Sets a key, and waits until so many replicas have it. WAIT is about the writes of its own
/// connection, so both go through one.
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

/// True where the server takes the connection, or lets it wait, but answers nothing.
pub async fn is_frozen(address: ServerAddress) -> bool {
    match query(address, &["PING"], FROZEN_PATIENCE).await {
        Ok(_) => false,
        Err(error) => error.is_timeout(),
    }
}

/// True where nobody listens.
pub async fn is_refused(address: ServerAddress) -> bool {
    match tokio::net::TcpStream::connect(address.socket()).await {
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
    }
}

/// The error with which a command is refused, or its connection.
pub async fn refusal(address: ServerAddress, words: &[&str]) -> String {
    match query(address, words, PATIENCE).await {
        Ok(answer) => panic!("{words:?} was answered: {answer}"),
        Err(error) => error.to_string(),
    }
}
