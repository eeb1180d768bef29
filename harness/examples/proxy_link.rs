//! One link of the proxy as a process of its own, for `scripts/bench-proxy`.
//!
//! ```text
//! wire_link serve UPSTREAM              forward to a Redis on loopback; prints the link's address
//! wire_link probe COUNT NAME=ADDRESS... median latency of a single PING by each way
//! ```

#![expect(
    clippy::print_stdout,
    reason = "an example speaks to the person who started it"
)]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use hdrhistogram::Histogram;
use picklock_harness::clock::Clock;
use picklock_harness::proxy::{LinkId, NoInterceptor, Proxy};

/// Rounds that are not counted: caches and connections warm up.
const WARM_UP: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", upstream] => serve(upstream.parse()?),
        ["probe", count, ways @ ..] if !ways.is_empty() => probe(count.parse()?, ways),
        _ => Err("usage: wire_link serve UPSTREAM | probe COUNT NAME=ADDRESS...".into()),
    }
}

fn serve(upstream: SocketAddr) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let keys = vec!["picklock:bench".to_owned()];
        let proxy = Proxy::new(Clock::start(), keys, 0, Arc::new(NoInterceptor));
        let link = LinkId { worker: 0, node: 0 };
        println!("{}", proxy.open(link, upstream).await?);
        // The script ends it with SIGTERM; by hand, Ctrl-C shows what the log kept.
        tokio::signal::ctrl_c().await?;
        proxy.close().await;
        let (kept, omitted) = (proxy.log().entries().len(), proxy.log().omitted());
        println!("log: {kept} entries kept, {omitted} made room");
        Ok(())
    })
}

/// Takes turns, so that whatever else the machine does hits every way alike.
fn probe(count: u64, ways: &[&str]) -> Result<(), Box<dyn Error>> {
    let clock = Clock::start();
    let mut probes = Vec::new();
    for way in ways {
        let (name, address) = way.split_once('=').ok_or("expected NAME=ADDRESS")?;
        let stream = TcpStream::connect(address.parse::<SocketAddr>()?)?;
        stream.set_nodelay(true)?;
        probes.push((name, stream, Histogram::<u64>::new(3)?));
    }
    for round in 0..WARM_UP + count {
        for (_, stream, histogram) in &mut probes {
            let sent_ns = clock.now_ns();
            stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
            let mut reply = [0; 7];
            stream.read_exact(&mut reply)?;
            if round >= WARM_UP {
                histogram.record(clock.now_ns() - sent_ns)?;
            }
        }
    }
    for (name, _, histogram) in &probes {
        let p50_us = histogram.value_at_quantile(0.5) as f64 / 1e3;
        println!("{name} {p50_us:.1}");
    }
    Ok(())
}
