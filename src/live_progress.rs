//! Live progress of a run on standard error: a status line on a terminal, plain lines otherwise.

use std::cell::{Cell, RefCell};

use indicatif::ProgressBar;
use picklock_harness::history::{Event, EventKind};
use picklock_harness::run::{Observer, RunPhase};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::progress::Progress;

use crate::status_line::StatusLine;

/// Shows the progress of a run: one line per event, or a status line with faults printed above it.
pub struct LiveProgress {
    shown: StatusLine,
    progress: RefCell<Progress>,
    granted: Cell<u64>,
    sold: Cell<u64>,
    faults: Cell<u64>,
}

impl LiveProgress {
    /// Creates the display for a run with this many clients.
    pub fn new(quiet: bool, workers: usize) -> Self {
        let template = "{spinner} {elapsed}  {msg}";
        LiveProgress {
            shown: StatusLine::new(quiet, ProgressBar::new_spinner, template),
            progress: RefCell::new(Progress::with_workers(workers)),
            granted: Cell::new(0),
            sold: Cell::new(0),
            faults: Cell::new(0),
        }
    }

    fn line(&self, event: &Event) {
        if let Some(line) = self.progress.borrow_mut().line(event) {
            self.shown.print_line(&line);
        }
    }
}

impl Observer for LiveProgress {
    fn phase(&self, phase: RunPhase) {
        let name = match phase {
            RunPhase::Setup => "setting up servers and clients",
            RunPhase::Teardown => {
                if let Some(stalls) = self.progress.borrow().stalls() {
                    self.shown.print_line(&stalls);
                }
                "shutting down"
            }
        };
        match &self.shown {
            StatusLine::Bar(bar) => bar.show(&Inert::literal(name)),
            lines => lines.print_line(&Inert::literal(name)),
        }
    }

    fn event(&self, event: &Event) {
        if self.progress.borrow_mut().counts_stall(&event.what) {
            return;
        }
        let bar = match &self.shown {
            StatusLine::Nothing => return,
            StatusLine::Lines => return self.line(event),
            StatusLine::Bar(bar) => bar,
        };
        let count = |cell: &Cell<u64>| cell.set(cell.get() + 1);
        match event.what {
            EventKind::Granted { .. } => count(&self.granted),
            EventKind::StockChanged { .. } => count(&self.sold),
            EventKind::FaultBegan { .. } => {
                count(&self.faults);
                self.line(event);
            }
            EventKind::FaultEnded { .. }
            | EventKind::FaultFired { .. }
            | EventKind::FaultOverran { .. }
            | EventKind::FaultMissed { .. }
            | EventKind::FaultNotUndone { .. }
            | EventKind::BackendUnsupported { .. }
            | EventKind::CommandUnknown { .. }
            | EventKind::ExtensionUntested { .. }
            | EventKind::LeaseRefused { .. }
            | EventKind::StockUnknown { .. }
            | EventKind::FinalInspectionFailed { .. }
            | EventKind::Misbehaved { .. }
            | EventKind::WorkerDown { .. } => self.line(event),
            _ => return,
        }
        bar.show(&inert!(
            "running · granted {} · sold {} · faults {}",
            self.granted.get(),
            self.sold.get(),
            self.faults.get()
        ));
    }
}
