use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::*;
use crate::model::ServerVersion;
use crate::proxy::NoInterceptor;
use crate::servers::Password;

/// Answers every request with `+OK`, and `MONITOR` with lines without a pause. The lines do end, so that a test that
/// waits for the end fails instead of hanging.
fn flood(mut client: TcpStream) -> io::Result<()> {
    let lines = "+1.1 [0 1.1.1.1:1] \"SET\" \"a\" \"x\"\r\n".repeat(2_000);
    let mut chunk = [0; 4096];
    loop {
        let count = client.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        client.write_all(b"+OK\r\n")?;
        if chunk[..count].windows(7).any(|word| word == b"MONITOR") {
            for _ in 0..1_000 {
                client.write_all(lines.as_bytes())?;
            }
        }
    }
}

#[test]
fn report_without_a_pause_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || flood(client));
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let clock = Clock::start();
        let proxy = Proxy::new(clock.clone(), Vec::new(), 7, Arc::new(NoInterceptor));
        proxy.track_requests("t-");
        let shared = SharedServers {
            token: "t-".into(),
            prefix: "p:".into(),
            cluster: Vec::new(),
            nodes: Vec::new(),
            secrets: Vec::new(),
        };
        let address = ServerAddress::new(socket, Password::fresh().unwrap());
        let replay = MonitorReplay::new(ServerVersion::nearest("redis", "7.0.0"), 1, Rc::from([]));
        let shared = Some(Rc::new(shared));
        let node = ObservedNode::begin(0, vec![address], shared, replay, proxy, clock)
            .await
            .unwrap();
        let reader = node.servers[0].reader.borrow_mut().take();
        reader.unwrap().await.unwrap();
        let gap = node.take().1.unwrap();
        assert!(gap.is_gap);
        assert!(gap.reason.contains("kept coming"), "{}", gap.reason);
    });
}
