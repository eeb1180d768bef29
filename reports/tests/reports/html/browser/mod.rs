//! A real browser, driven: it opens a page and writes down whatever it complains about.

mod compared;
mod key_lanes;
mod looks;
mod whole_table;

use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headless_chrome::protocol::cdp::types::{Event, Method};
use headless_chrome::protocol::cdp::{Emulation, Input, Network, Page};
use headless_chrome::{Browser, LaunchOptions, Tab};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A page in a browser.
pub struct Sheet {
    pub tab: Arc<Tab>,
    address: String,
    complaints: Arc<Mutex<Vec<String>>>,
    /// What lives as long as the page is open.
    _browser: Browser,
    _profile: tempfile::TempDir,
}

/// Chromium, by name on PATH. Without one the test fails: a page that nobody opened is not tested.
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places
        .into_iter()
        .find(|place| place.is_file())
        .unwrap_or_else(|| {
            panic!("no Chromium on PATH ({NAMES:?}): install the package `chromium`")
        })
}

impl Sheet {
    /// Opens a file in a browser of its own, with a window of this many pixels.
    pub fn open(file: &Path, width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let options = LaunchOptions::default_builder()
            .path(Some(chromium()))
            .headless(true)
            // Chromium refuses to run as root with its sandbox; the page is our own.
            .sandbox(false)
            .window_size(Some((width, height)))
            .user_data_dir(Some(profile.path().to_owned()))
            .idle_browser_timeout(Duration::from_secs(300))
            .args(vec![OsStr::new("--hide-scrollbars")])
            .build()
            .expect("the browser does what it is told");
        let browser = Browser::new(options).expect("the browser does what it is told");
        let tab = browser.new_tab().expect("the browser does what it is told");
        tab.set_default_timeout(Duration::from_secs(120));
        let sheet = Sheet {
            address: format!("file://{}", file.display()),
            complaints: Arc::default(),
            tab,
            _browser: browser,
            _profile: profile,
        };
        sheet.listen();
        sheet.size(width, height);
        sheet
            .tab
            .navigate_to(&sheet.address)
            .expect("the browser does what it is told");
        sheet
            .tab
            .wait_until_navigated()
            .expect("the browser does what it is told");
        sheet.settle();
        sheet
    }

    /// Notes everything that a faultless page never does.
    fn listen(&self) {
        self.tab
            .enable_log()
            .expect("the browser does what it is told");
        self.tab
            .enable_runtime()
            .expect("the browser does what it is told");
        self.send::<Network::Enable>(json!({}));
        let complaints = Arc::clone(&self.complaints);
        let address = self.address.clone();
        let listener = move |event: &Event| {
            let complaint = match event {
                Event::LogEntryAdded(entry) => format!("{entry:?}"),
                Event::RuntimeExceptionThrown(thrown) => format!("{thrown:?}"),
                Event::RuntimeConsoleAPICalled(called) => format!("{called:?}"),
                Event::NetworkRequestWillBeSent(sent) => {
                    let url = &sent.params.request.url;
                    if url.split('#').next() == Some(&address) || url.starts_with("data:") {
                        return;
                    }
                    format!("network request: {url}")
                }
                _ => return,
            };
            complaints
                .lock()
                .expect("no listener panicked")
                .push(complaint);
        };
        self.tab
            .add_event_listener(Arc::new(listener))
            .expect("the browser does what it is told");
    }

    /// What the browser complained about so far.
    pub fn complaints(&self) -> Vec<String> {
        self.settle();
        self.complaints
            .lock()
            .expect("no listener panicked")
            .clone()
    }

    /// Sends a command of the browser's protocol, written as its documentation writes it.
    fn send<C>(&self, parameters: Value)
    where
        C: Method + Serialize + DeserializeOwned + Debug,
    {
        let command: C =
            serde_json::from_value(parameters).expect("parameters as the protocol has them");
        self.tab
            .call_method(command)
            .expect("the browser does what it is told");
    }

    /// A window of this many pixels.
    pub fn size(&self, width: u32, height: u32) {
        self.send::<Emulation::SetDeviceMetricsOverride>(json!({
            "width": width, "height": height, "deviceScaleFactor": 1.0, "mobile": width < 600,
        }));
    }

    /// The system's choice of `light` or `dark`.
    pub fn prefer(&self, scheme: &str) {
        self.send::<Emulation::SetEmulatedMedia>(json!({
            "features": [{ "name": "prefers-color-scheme", "value": scheme }],
        }));
        self.settle();
    }

    /// As on paper.
    pub fn on_paper(&self) {
        self.send::<Emulation::SetEmulatedMedia>(json!({ "media": "print" }));
        self.size(760, 1100);
        self.settle();
    }

    /// Turns the wheel at a place of the window.
    pub fn wheel(&self, x: f64, y: f64, delta: f64) {
        self.send::<Input::DispatchMouseEvent>(json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": 0.0, "deltaY": delta,
        }));
        self.settle();
    }

    /// Waits until what was done is drawn: two frames on.
    pub fn settle(&self) {
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// What an expression says in the page, if it is a number, a text or a truth.
    pub fn value(&self, expression: &str) -> Value {
        let object = self
            .tab
            .evaluate(expression, true)
            .expect("the browser does what it is told");
        object.value.unwrap_or(Value::Null)
    }

    /// The number that an expression gives.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.value(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// What the window shows, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        self.settle();
        let format = Page::CaptureScreenshotFormatOption::Png;
        self.tab
            .capture_screenshot(format, None, None, true)
            .expect("the browser does what it is told")
    }

    /// The page as it would be printed, as PDF.
    pub fn print(&self) -> Vec<u8> {
        self.tab
            .print_to_pdf(None)
            .expect("the browser does what it is told")
    }
}
