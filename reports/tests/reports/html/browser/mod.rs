//! A real browser, driven: it opens a page and writes down whatever it complains about.

mod accessibility;
mod compared;
mod devtools;
mod key_lanes;
mod looks;
mod searched;
mod whole_table;

use std::cell::{RefCell, RefMut};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use devtools::DevTools;

/// A page in a browser.
pub struct Sheet {
    /// `None` when it is closed.
    tools: RefCell<Option<DevTools>>,
    address: String,
}

impl Drop for Sheet {
    fn drop(&mut self) {
        // What a failed test has left is not for others.
        if let Some(tools) = self.tools.take().filter(|_| !std::thread::panicking()) {
            tools.close();
        }
    }
}

impl Sheet {
    /// Opens a file in a page of its own, with a window of this many pixels.
    pub fn open(file: &Path, width: u32, height: u32) -> Self {
        let sheet = Sheet {
            address: format!("file://{}", file.display()),
            tools: RefCell::new(Some(DevTools::open())),
        };
        // Whatever a faultless page never does is an event of one of these.
        for domain in ["Log", "Runtime", "Network", "Page"] {
            sheet.call(&format!("{domain}.enable"), json!({}));
        }
        sheet.size(width, height);
        let to = json!({ "url": sheet.address });
        let mut tools = sheet.tools();
        let opened = tools.call_and_wait("Page.navigate", to, "Page.loadEventFired");
        drop(tools);
        assert!(opened.get("errorText").is_none(), "{opened}");
        sheet.settle();
        sheet
    }

    fn tools(&self) -> RefMut<'_, DevTools> {
        let tools = self.tools.borrow_mut();
        RefMut::map(tools, |tools| tools.as_mut().expect("the page is open"))
    }

    fn call(&self, method: &str, parameters: Value) -> Value {
        self.tools().call(method, parameters)
    }

    /// What the browser complained about so far.
    pub fn complaints(&self) -> Vec<String> {
        self.settle();
        let tools = self.tools();
        let complaint = |event: &Value| match event["method"].as_str()? {
            "Log.entryAdded" | "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => {
                Some(event["params"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str()?;
                let own = url.split('#').next() == Some(&self.address) || url.starts_with("data:");
                (!own).then(|| format!("network request: {url}"))
            }
            _ => None,
        };
        tools.events().iter().filter_map(complaint).collect()
    }

    /// A window of this many pixels.
    pub fn size(&self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": width, "height": height, "deviceScaleFactor": 1.0, "mobile": width < 600,
            }),
        );
    }

    /// The system's choice of `light` or `dark`.
    pub fn prefer(&self, scheme: &str) {
        self.call(
            "Emulation.setEmulatedMedia",
            json!({
                "features": [{ "name": "prefers-color-scheme", "value": scheme }],
            }),
        );
        self.settle();
    }

    /// As on paper of this size, in pixels.
    pub fn on_paper(&self, width: u32, height: u32) {
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        self.size(width, height);
        self.settle();
    }

    /// Waits until an expression is true in the page; without that the test fails.
    pub fn until(&self, expression: &str) {
        let polled = format!(
            "new Promise((done, fail) => {{
                let frames = 0;
                const look = () => {{
                    if ({expression}) done(true);
                    else if (++frames > 3600) fail(new Error('it never came'));
                    else requestAnimationFrame(look);
                }};
                look();
            }})"
        );
        self.value(&polled);
        self.settle();
    }

    /// Turns the wheel at a place of the window.
    pub fn wheel(&self, x: f64, y: f64, delta: f64) {
        self.call(
            "Input.dispatchMouseEvent",
            json!({
                "type": "mouseWheel", "x": x, "y": y, "deltaX": 0.0, "deltaY": delta,
            }),
        );
        self.settle();
    }

    /// Waits until what was done is drawn: two frames on.
    pub fn settle(&self) {
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// What an expression says in the page, if it is a number, a text or a truth. A promise is waited
    /// for.
    pub fn value(&self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true });
        let mut said = self.call("Runtime.evaluate", asked);
        let thrown = said.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {said}");
        said["result"]["value"].take()
    }

    /// The number that an expression gives.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.value(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// Clicks into the middle of the first element that a selector finds.
    pub fn click(&self, selector: &str) {
        let middle = self.on_element(
            selector,
            "element.scrollIntoViewIfNeeded();
             const box = element.getBoundingClientRect();
             return (box.x + box.width / 2) + ' ' + (box.y + box.height / 2)",
        );
        let middle = middle.as_str().and_then(|middle| middle.split_once(' '));
        let (x, y) = middle.expect("an element has a place");
        let [x, y]: [f64; 2] = [x, y].map(|number| number.parse().expect("a number"));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Gives the first element that a selector finds the focus.
    pub fn focus(&self, selector: &str) {
        self.on_element(selector, "element.focus(); return 1");
    }

    /// Runs a function's body with the `element` that a selector finds; without one the test fails.
    fn on_element(&self, selector: &str, body: &str) -> Value {
        let selector = json!(selector);
        let value = self.value(&format!(
            "(() => {{ const element = document.querySelector({selector}); if (!element) return null; {body} }})()"
        ));
        assert!(!value.is_null(), "there is no {selector}");
        value
    }

    /// Presses a key and lets it go: a character, or a name such as `ArrowDown`.
    pub fn press(&self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        let typed = if key == "Enter" { "\r" } else { key };
        if typed.chars().count() == 1 {
            event["text"] = json!(typed);
        } else {
            assert_ne!(code, 0, "the key {key} needs its code here");
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// What the window shows, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        self.settle();
        self.bytes("Page.captureScreenshot", json!({}))
    }

    /// The page as it would be printed, as PDF.
    pub fn print(&self) -> Vec<u8> {
        // The page itself says how large its paper is.
        self.bytes("Page.printToPDF", json!({ "preferCSSPageSize": true }))
    }

    fn bytes(&self, method: &str, parameters: Value) -> Vec<u8> {
        let result = self.call(method, parameters);
        let text = result["data"].as_str().expect("the browser sends data");
        BASE64_STANDARD.decode(text).expect("data is base64")
    }
}
