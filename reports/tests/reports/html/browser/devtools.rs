//! Chromium, and its DevTools protocol over two pipes.
//!
//! Messages are JSON, each ended by a zero byte; the browser reads them from descriptor 3 and writes
//! them to descriptor 4 (`--remote-debugging-pipe`). Written here because a client from crates.io brings
//! TLS, an HTTP client and every type of the protocol: that was an eighth of the time in which this
//! workspace compiles, for a dozen commands.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How long the browser may take for one command; waited for in full only where a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page, and the events of that page.
pub struct DevTools {
    browser: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    events: Vec<Value>,
}

/// Chromium, by name on PATH. Without one the test fails: a page that nobody opened is not tested.
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|place| place.is_file()).unwrap_or_else(|| {
        panic!("no Chromium on PATH ({NAMES:?}): install the package `chromium`")
    })
}

impl DevTools {
    /// Starts a browser that keeps its files in a directory, with a window of this many pixels.
    pub fn start(profile: &Path, width: u32, height: u32) -> Self {
        let mut browser = Command::new("sh")
            // What the shell has as its own input and output are the browser's descriptors 3 and 4.
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg(chromium())
            // Chromium refuses to run as root with its sandbox; the page is our own.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--hide-scrollbars", "--no-first-run"])
            .args(["--remote-debugging-pipe", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts the browser");
        let commands = browser.stdin.take().expect("it is piped");
        let output = BufReader::new(browser.stdout.take().expect("it is piped"));
        let (tell, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                // A browser that is killed may leave half a message.
                let Ok(message) = serde_json::from_slice(&message) else {
                    return;
                };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut tools = DevTools {
            browser,
            commands,
            messages,
            last_id: 0,
            session: None,
            events: Vec::new(),
        };
        let target = tools.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = tools.call("Target.attachToTarget", attach);
        tools.session = session["sessionId"].as_str().map(str::to_owned);
        assert!(tools.session.is_some(), "{session}");
        tools
    }

    /// Sends a command, written as the protocol's documentation writes it, and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut line = command.to_string().into_bytes();
        line.push(0);
        self.commands
            .write_all(&line)
            .unwrap_or_else(|error| panic!("{method}: the browser is gone: {error}"));
        loop {
            let mut message = self.message(method);
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Sends a command, and waits for an event that comes after it was sent.
    pub fn call_and_wait(&mut self, method: &str, parameters: Value, event: &str) -> Value {
        let before = self.events.len();
        let result = self.call(method, parameters);
        while !(self.events[before..].iter()).any(|seen| seen["method"] == event) {
            let message = self.message(event);
            self.events.push(message);
        }
        result
    }

    /// All events that have come.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    fn message(&self, waiting_for: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{waiting_for}: nothing from the browser: {error}"))
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // Its children end when it does.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
