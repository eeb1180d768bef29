//! Chromium, controlled by its DevTools protocol over two pipes.
//!
//! Messages are JSON, each terminated by a zero byte. The browser reads them from descriptor 3 and writes
//! them to descriptor 4 (`--remote-debugging-pipe`). Implemented here because a client from crates.io brings
//! TLS, an HTTP client and every type of the protocol: an eighth of the compile time of this workspace, for a
//! dozen commands.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Maximum time that the browser may take for one command. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Idle browsers without a page. Starting one takes longer than most tests, so the tests of one process share
/// them. Each exits when its pipe closes, at the latest with the process.
static IDLE: Mutex<Vec<DevTools>> = Mutex::new(Vec::new());

/// Runs the browser, and removes its files afterwards. The shell's input and output become the browser's
/// descriptors 3 and 4.
const RUN: &str = r#"
profile=$(mktemp -d) || exit 1
"$0" "$@" --user-data-dir="$profile" 3<&0 4>&1 </dev/null >/dev/null
rm -rf "$profile"
"#;

/// A browser with one page, and the events of that page.
pub struct DevTools {
    commands: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    target: Value,
    session: Option<String>,
    events: Vec<Value>,
}

/// Finds Chromium on PATH. Without it the test fails, because it would test nothing.
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
    /// Opens a browser with a new page.
    pub fn open() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut tools = idle.unwrap_or_else(Self::start);
        let target = tools.call("Target.createTarget", json!({ "url": "about:blank" }));
        tools.target = target["targetId"].clone();
        let attach = json!({ "targetId": tools.target, "flatten": true });
        let session = tools.call("Target.attachToTarget", attach);
        tools.session = session["sessionId"].as_str().map(str::to_owned);
        assert!(tools.session.is_some(), "{session}");
        tools
    }

    /// Closes the page, and leaves the browser to another test.
    pub fn close(mut self) {
        self.session = None;
        let closed = json!({ "targetId": self.target });
        self.call("Target.closeTarget", closed);
        self.events.clear();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self);
    }

    fn start() -> Self {
        let mut browser = Command::new("sh")
            .args(["-c", RUN])
            .arg(chromium())
            // Chromium refuses to run as root with its sandbox. The page is trusted.
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--hide-scrollbars", "--no-first-run"])
            .args(["--remote-debugging-pipe", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts the browser");
        let commands = browser.stdin.take().expect("it is piped");
        let output = BufReader::new(browser.stdout.take().expect("it is piped"));
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                // A browser that exits may leave half a message.
                let Ok(message) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(message).is_err() {
                    break;
                }
            }
            let _ = browser.wait();
        });
        DevTools {
            commands,
            messages,
            last_id: 0,
            target: Value::Null,
            session: None,
            events: Vec::new(),
        }
    }

    /// Sends a command, named as in the protocol's documentation, and returns its result.
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
            self.record(message);
        }
    }

    /// Sends a command, and waits for an event that arrives after it.
    pub fn call_and_wait(&mut self, method: &str, parameters: Value, event: &str) -> Value {
        let before = self.events.len();
        let result = self.call(method, parameters);
        while !(self.events[before..].iter()).any(|seen| seen["method"] == event) {
            let message = self.message(event);
            self.record(message);
        }
        result
    }

    /// Returns all events so far.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    /// Records an event, unless it belongs to an earlier page.
    fn record(&mut self, event: Value) {
        if event["sessionId"].as_str() == self.session.as_deref() {
            self.events.push(event);
        }
    }

    fn message(&self, waiting_for: &str) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{waiting_for}: nothing from the browser: {error}"))
    }
}
