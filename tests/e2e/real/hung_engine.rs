//! A stalled container engine does not delay the answer to Ctrl-C, and nothing is left when it continues.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use rustix::process::Signal;

use super::containers::{containers_of, docker};
use super::leftovers::{Belongings, becomes, frozen_run};
use crate::running::{Call, picklock};

/// Relays traffic between a run and the engine, and forwards nothing while it is closed.
#[derive(Clone, Default)]
struct Relay(Arc<(Mutex<Gate>, Condvar)>);

#[derive(Default)]
struct Gate {
    is_closed: bool,
    /// Whether data arrived while it was closed.
    has_held: bool,
}

impl Relay {
    /// Listens at this path for the life of the test's process.
    fn at(path: &Path) -> Relay {
        let relay = Relay::default();
        let listener = UnixListener::bind(path).unwrap();
        let forwarding = relay.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                forwarding.connect(&client);
            }
        });
        relay
    }

    fn connect(&self, client: &UnixStream) {
        let host = std::env::var("DOCKER_HOST").unwrap_or_default();
        let socket = host.strip_prefix("unix://");
        let engine = UnixStream::connect(socket.unwrap_or("/var/run/docker.sock")).unwrap();
        let ends = [(client, &engine), (&engine, client)];
        for (from, to) in
            ends.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
        {
            let relay = self.clone();
            std::thread::spawn(move || relay.forward(from, to));
        }
    }

    fn forward(&self, mut from: UnixStream, mut to: UnixStream) {
        let mut bytes = [0; 1 << 14];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let (gate, changed) = &*self.0;
            let mut gate = gate.lock().unwrap();
            gate.has_held |= gate.is_closed;
            drop(changed.wait_while(gate, |gate| gate.is_closed).unwrap());
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        // The other side may have closed already.
        let _ = to.shutdown(std::net::Shutdown::Write);
    }

    fn set_closed(&self, is_closed: bool) {
        self.0.0.lock().unwrap().is_closed = is_closed;
        self.0.1.notify_all();
    }

    fn has_held(&self) -> bool {
        self.0.0.lock().unwrap().has_held
    }
}

/// Creates a call whose engine is behind the relay.
fn behind_a_relay(line: &str) -> (Call, Relay) {
    let call = picklock(line);
    let socket = call.temp().with_file_name("engine.sock");
    let relay = Relay::at(&socket);
    (
        call.env("DOCKER_HOST", &format!("unix://{}", socket.display())),
        relay,
    )
}

#[test]
fn an_interrupted_run_is_reported_while_the_engine_stands_still() {
    let line = "scenario gc-pause --impl set-nx-px --ttl 3s --backend docker --out run";
    let (call, relay) = behind_a_relay(line);
    let run = frozen_run(call);
    let belongings = Belongings::of(&run, "docker");
    relay.set_closed(true);
    run.signal(Signal::INT);
    let outcome = run.finish().exits(130);
    assert!(outcome.stdout.contains("interrupted"), "{}", outcome.all());
    assert_eq!(outcome.json_file("run/run.json")["interrupted"], true);
    // Its containers may be gone already, because every run cleans up after dead runs.
    becomes("the engine is asked in vain", || {
        relay.has_held().then_some(()).ok_or_else(String::new)
    });
    relay.set_closed(false);
    belongings.vanish(&outcome.home().join("tmp"));
    outcome.left_no_directory();
}

#[test]
fn an_interrupted_start_ends_while_the_engine_stands_still() {
    let (call, relay) = behind_a_relay("scenario gc-pause --impl redlock --backend docker");
    let mut run = call.start();
    run.hear("setting up");
    let pid = run.pid();
    becomes("a container", || {
        let some = containers_of(pid);
        (!some.is_empty()).then_some(()).ok_or_else(String::new)
    });
    relay.set_closed(true);
    run.signal(Signal::INT);
    // The relay's socket is in the call's folder, and the cleanup helper still needs it.
    let outcome = run.finish().exits(130);
    relay.set_closed(false);
    becomes("no container", || {
        let left = containers_of(pid);
        left.is_empty().then_some(()).ok_or(left.join(" "))
    });
    becomes("no network", || {
        let owner = "{{.Label \"picklock.owner\"}}";
        let all = docker(&[
            "network",
            "ls",
            "--filter",
            "label=picklock.owner",
            "--format",
            owner,
        ]);
        let left = all.lines().filter(|it| it.starts_with(&format!("{pid}:")));
        (left.count() == 0).then_some(()).ok_or(all.clone())
    });
    outcome.left_no_directory();
}
