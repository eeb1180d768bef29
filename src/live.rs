//! Live progress on standard error: a status line on a terminal, plain lines otherwise.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use picklock_harness::history::{Event, What};
use picklock_reports::progress::Progress;

use crate::print;

/// Shows how a run goes on.
pub enum Live {
    /// Nobody wants to know.
    Silent,
    /// Into a file or pipe: one line an event.
    Lines(RefCell<Progress>),
    /// On a terminal: a line that changes, and faults above it as they strike.
    Status(Status),
}

/// The line that changes.
pub struct Status {
    bar: ProgressBar,
    progress: RefCell<Progress>,
    granted: Cell<u64>,
    sold: Cell<u64>,
    faults: Cell<u64>,
}

impl Live {
    /// What fits the terminal.
    pub fn new(quiet: bool) -> Self {
        if quiet {
            return Live::Silent;
        }
        if !print::somebody_watches() {
            return Live::Lines(RefCell::default());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Live::Status(Status {
            bar,
            progress: RefCell::default(),
            granted: Cell::new(0),
            sold: Cell::new(0),
            faults: Cell::new(0),
        })
    }

    /// A phase of the run begins.
    pub fn phase(&self, name: &str) {
        match self {
            Live::Silent => {}
            Live::Lines(_) => print::err(&format!("{name}\n")),
            Live::Status(status) => status.bar.set_message(name.to_owned()),
        }
    }

    /// Something happened.
    pub fn event(&self, event: &Event) {
        match self {
            Live::Silent => {}
            Live::Lines(progress) => {
                if let Some(line) = progress.borrow_mut().line(event) {
                    print::err(&format!("{line}\n"));
                }
            }
            Live::Status(status) => status.event(event),
        }
    }
}

impl Status {
    fn event(&self, event: &Event) {
        let count = |cell: &Cell<u64>| cell.set(cell.get() + 1);
        match event.what {
            What::Granted { .. } => count(&self.granted),
            What::StockChanged { .. } => count(&self.sold),
            What::FaultBegan { .. }
            | What::FaultEnded { .. }
            | What::FaultMissed { .. }
            | What::Misbehaved { .. }
            | What::WorkerDown { .. } => {
                if matches!(event.what, What::FaultBegan { .. }) {
                    count(&self.faults);
                }
                if let Some(line) = self.progress.borrow_mut().line(event) {
                    self.bar.println(line);
                }
            }
            _ => return,
        }
        self.bar.set_message(format!(
            "trading · granted {} · sold {} · faults {}",
            self.granted.get(),
            self.sold.get(),
            self.faults.get()
        ));
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
