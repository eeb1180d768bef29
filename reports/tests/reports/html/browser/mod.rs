//! A real browser that opens a page and records all of its complaints.

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
    /// `None` once the page is closed.
    tools: RefCell<Option<DevTools>>,
    address: String,
}

impl Drop for Sheet {
    fn drop(&mut self) {
        // Do not hand the browser of a failed test to other tests.
        if let Some(tools) = self.tools.take().filter(|_| !std::thread::panicking()) {
            tools.close();
        }
    }
}

impl Sheet {
    /// Opens a file in a new page with a window of this size in pixels.
    pub fn open(file: &Path, width: u32, height: u32) -> Self {
        let sheet = Sheet {
            address: format!("file://{}", file.display()),
            tools: RefCell::new(Some(DevTools::open())),
        };
        // Everything that a faultless page never does is reported by an event of one of these domains.
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

    /// Returns the browser's complaints so far.
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

    /// Sets the size of the window in pixels.
    pub fn size(&self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": width, "height": height, "deviceScaleFactor": 1.0, "mobile": width < 600,
            }),
        );
    }

    /// Sets the system's preference to `light` or `dark`.
    pub fn prefer(&self, scheme: &str) {
        self.call(
            "Emulation.setEmulatedMedia",
            json!({
                "features": [{ "name": "prefers-color-scheme", "value": scheme }],
            }),
        );
        self.settle();
    }

    /// Switches to print media with paper of this size in pixels.
    pub fn on_paper(&self, width: u32, height: u32) {
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        self.size(width, height);
        self.settle();
    }

    /// Waits until an expression becomes true in the page, and fails otherwise.
    pub fn until(&self, expression: &str) {
        let polled = format!(
            "new Promise((done, fail) => {{
                let frames = 0;
                const look = () => {{
                    if ({expression}) done(true);
                    else if (++frames > 3600) fail(new Error('it never became true'));
                    else requestAnimationFrame(look);
                }};
                look();
            }})"
        );
        self.value(&polled);
        self.settle();
    }

    /// Turns the wheel at a position in the window.
    pub fn wheel(&self, x: f64, y: f64, delta: f64) {
        self.call(
            "Input.dispatchMouseEvent",
            json!({
                "type": "mouseWheel", "x": x, "y": y, "deltaX": 0.0, "deltaY": delta,
            }),
        );
        self.settle();
    }

    /// Waits two frames, so that all changes are drawn.
    pub fn settle(&self) {
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// Returns the value of an expression in the page: a number, a text or a boolean. Waits for a promise.
    pub fn value(&self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true });
        let mut reply = self.call("Runtime.evaluate", parameters);
        let thrown = reply.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {reply}");
        reply["result"]["value"].take()
    }

    /// Returns the number that an expression yields.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.value(expression);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
    }

    /// Clicks the middle of the first element that a selector finds.
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

    /// Focuses the first element that a selector finds.
    pub fn focus(&self, selector: &str) {
        self.on_element(selector, "element.focus(); return 1");
    }

    /// Runs a function body with the `element` that a selector finds. Fails if there is none.
    fn on_element(&self, selector: &str, body: &str) -> Value {
        let selector = json!(selector);
        let value = self.value(&format!(
            "(() => {{ const element = document.querySelector({selector}); if (!element) return null; {body} }})()"
        ));
        assert!(!value.is_null(), "there is no {selector}");
        value
    }

    /// Presses and releases a key: a character, or a name such as `ArrowDown`.
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

    /// Returns a picture of the window as PNG.
    pub fn picture(&self) -> Vec<u8> {
        self.settle();
        self.bytes("Page.captureScreenshot", json!({}))
    }

    /// Returns the printed page as PDF.
    pub fn print(&self) -> Vec<u8> {
        // The page itself specifies the size of its paper.
        self.bytes("Page.printToPDF", json!({ "preferCSSPageSize": true }))
    }

    fn bytes(&self, method: &str, parameters: Value) -> Vec<u8> {
        let result = self.call(method, parameters);
        let text = result["data"].as_str().expect("the browser sends data");
        BASE64_STANDARD.decode(text).expect("data is base64")
    }
}
