//! `picklock proxy`: the proxy as a service, whose faults a test adds and removes over HTTP.

mod http;
mod routes;
mod rules;

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use clap::Args;
use picklock_harness::clock::Clock;
use picklock_harness::proxy::Proxy;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use tokio::net::TcpListener;

use crate::exit::{self, Failure};
use crate::interrupt::{Interrupt, stdin_closed};
use crate::print;
use routes::Service;
use rules::{LINK, Rules};

/// Seed of the proxy. Its faults use no random numbers.
const SEED: u64 = 1;

/// Arguments of `picklock proxy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The control API uses JSON: `picklock docs proxy` describes it, and GET /openapi.json returns its description.

Examples:
  picklock proxy --upstream redis://127.0.0.1:6379
  curl -d '{\"on\": \"reply\", \"command\": \"SET\", \"key\": \"stock\", \"effect\": \"drop\"}' http://127.0.0.1:CONTROL/faults")]
pub struct ProxyArgs {
    /// The Redis server, on this machine: redis://HOST:PORT.
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// The loopback address for clients of Redis. Port 0 is any free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// The loopback address of the control API. Port 0 is any free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub control: SocketAddr,
    /// End when standard input is closed, which happens when the program that started the proxy ends.
    #[arg(long)]
    pub until_stdin_closes: bool,
    /// Print the addresses as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Serves until it is interrupted.
///
/// # Errors
/// Returns an error if an address is wrong or in use.
pub async fn run(args: ProxyArgs) -> Result<u8, Failure> {
    let interrupt = Interrupt::listen()?;
    let upstream = address_of(&args.upstream)?;
    for (flag, address) in [("--listen", args.listen), ("--control", args.control)] {
        if !address.ip().is_loopback() {
            return Err(Failure::Usage(inert!(
                "{} {}: only loopback addresses are supported",
                flag,
                address
            )));
        }
    }
    let rules = Arc::new(Rules::default());
    let interceptor = Arc::clone(&rules);
    let proxy = Proxy::new(Clock::start(), Vec::new(), SEED, interceptor);
    rules.attach(proxy.clone());
    let refused = |flag: &str, address: SocketAddr, error: std::io::Error| {
        Failure::Environment(inert!("{} {}: {}", flag, address, error))
    };
    let listens = proxy
        .listen_on(LINK, args.listen, upstream)
        .await
        .map_err(|error| refused("--listen", args.listen, error))?;
    let listener = TcpListener::bind(args.control)
        .await
        .map_err(|error| refused("--control", args.control, error))?;
    let control = listener
        .local_addr()
        .map_err(|error| refused("--control", args.control, error))?;
    print::out(&Inert::lines(&announcement(args.json, listens, control)));
    let service = Service {
        proxy: proxy.clone(),
        rules,
    };
    tokio::select! {
        () = interrupt.wanted() => {}
        () = stdin_closed(), if args.until_stdin_closes => {}
        () = http::serve(listener, service) => {}
    }
    proxy.close().await;
    Ok(exit::HELD)
}

fn announcement(as_json: bool, listens: SocketAddr, control: SocketAddr) -> String {
    if as_json {
        let addresses = serde_json::json!({
            "proxy": format!("redis://{listens}"),
            "control": format!("http://{control}"),
        });
        return format!("{addresses}\n");
    }
    format!("proxy    redis://{listens}\ncontrol  http://{control}\n")
}

/// Returns the address of a server from its URL.
fn address_of(url: &str) -> Result<SocketAddr, Failure> {
    let wrong = || {
        Failure::Usage(inert!(
            "--upstream {}: expected redis://HOST:PORT of a server on this machine",
            url
        ))
    };
    let host = url.strip_prefix("redis://").ok_or_else(wrong)?;
    let host = host.trim_end_matches('/');
    let mut addresses = host.to_socket_addrs().map_err(|_| wrong())?;
    addresses
        .find(|address| address.ip().is_loopback())
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_must_be_a_server_on_this_machine() {
        assert_eq!(address_of("redis://127.0.0.1:7/").unwrap().port(), 7);
        for wrong in [
            "127.0.0.1:7",
            "redis://127.0.0.1",
            "redis://192.0.2.1:7",
            "rediss://127.0.0.1:7",
        ] {
            assert!(address_of(wrong).is_err(), "{wrong}");
        }
    }
}
