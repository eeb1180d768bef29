//! Live progress of a run on standard error: a status line on a terminal, plain lines otherwise.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use picklock_harness::history::{Event, EventKind};
use picklock_harness::run::{Observer, RunPhase};
use picklock_reports::progress::Progress;

use crate::print;

/// Shows the progress of a run.
pub enum LiveProgress {
    /// Shows nothing.
    Silent,
    /// Into a file or pipe: one line per event.
    Lines(RefCell<Progress>),
    /// On a terminal: a status line, with faults printed above it.
    Status(Status),
}

/// The status line.
pub struct Status {
    bar: ProgressBar,
    progress: RefCell<Progress>,
    granted: Cell<u64>,
    sold: Cell<u64>,
    faults: Cell<u64>,
}

impl LiveProgress {
    /// Chooses by the kind of standard error.
    pub fn new(quiet: bool) -> Self {
        if quiet {
            return LiveProgress::Silent;
        }
        if !print::stderr_is_terminal() {
            return LiveProgress::Lines(RefCell::default());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        LiveProgress::Status(Status {
            bar,
            progress: RefCell::default(),
            granted: Cell::new(0),
            sold: Cell::new(0),
            faults: Cell::new(0),
        })
    }
}

impl Observer for LiveProgress {
    fn phase(&self, phase: RunPhase) {
        let name = match phase {
            RunPhase::Setup => "setting up servers and workers",
            RunPhase::Teardown => "shutting down",
        };
        match self {
            LiveProgress::Silent => {}
            LiveProgress::Lines(_) => print::err(&format!("{name}\n")),
            LiveProgress::Status(status) => status.bar.set_message(name.to_owned()),
        }
    }

    fn event(&self, event: &Event) {
        match self {
            LiveProgress::Silent => {}
            LiveProgress::Lines(progress) => {
                if let Some(line) = progress.borrow_mut().line(event) {
                    print::err(&format!("{line}\n"));
                }
            }
            LiveProgress::Status(status) => status.event(event),
        }
    }
}

impl Status {
    fn event(&self, event: &Event) {
        let count = |cell: &Cell<u64>| cell.set(cell.get() + 1);
        match event.what {
            EventKind::Granted { .. } => count(&self.granted),
            EventKind::StockChanged { .. } => count(&self.sold),
            EventKind::FaultBegan { .. }
            | EventKind::FaultEnded { .. }
            | EventKind::FaultStruck { .. }
            | EventKind::FaultOverran { .. }
            | EventKind::FaultMissed { .. }
            | EventKind::FaultNotUndone { .. }
            | EventKind::BackendUnsupported { .. }
            | EventKind::CommandUnknown { .. }
            | EventKind::ExtensionUntested { .. }
            | EventKind::StockUnknown { .. }
            | EventKind::FinalInspectionFailed { .. }
            | EventKind::Misbehaved { .. }
            | EventKind::WorkerDown { .. } => {
                if matches!(event.what, EventKind::FaultBegan { .. }) {
                    count(&self.faults);
                }
                if let Some(line) = self.progress.borrow_mut().line(event) {
                    self.bar.println(line);
                }
            }
            _ => return,
        }
        self.bar.set_message(format!(
            "running · granted {} · sold {} · faults {}",
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
