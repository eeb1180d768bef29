//! One link of the proxy as a separate process, for `scripts/bench-proxy`.
//!
//! ```text
//! proxy_link serve UPSTREAM              forward to a Redis on loopback; prints the link's address
//! proxy_link probe COUNT NAME=ADDRESS... median latency of a single PING on each path
//! ```

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use hdrhistogram::Histogram;
use picklock_harness::clock::Clock;
use picklock_harness::proxy::{LinkId, NoInterceptor, Proxy};

/// Number of rounds that are not counted, while caches and connections warm up.
const WARM_UP: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", upstream] => serve(upstream.parse()?),
        ["probe", count, paths @ ..] if !paths.is_empty() => probe(count.parse()?, paths),
        _ => Err("usage: proxy_link serve UPSTREAM | probe COUNT NAME=ADDRESS...".into()),
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
        // The script ends it with SIGTERM. After Ctrl-C it prints the size of the log.
        tokio::signal::ctrl_c().await?;
        proxy.close().await;
        let (kept, omitted) = (proxy.log().entries().len(), proxy.log().omitted());
        println!("log: {kept} entries kept, {omitted} replaced");
        Ok(())
    })
}

/// Probes the paths in turns, so that other load on the machine affects all of them alike.
fn probe(count: u64, paths: &[&str]) -> Result<(), Box<dyn Error>> {
    let clock = Clock::start();
    let mut probes = Vec::new();
    for path in paths {
        let (name, address) = path.split_once('=').ok_or("expected NAME=ADDRESS")?;
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
