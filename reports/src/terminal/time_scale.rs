//! The time scale of a picture: converts between times and columns, and draws the axis.

use super::line::{FAINT, Line, columns};
use super::time_window::Window;

/// Minimum distance between labels of the axis, in columns.
const LABEL_EVERY: u64 = 10;

/// A window spread over columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from_ns: u64,
    length_ns: u64,
    pub(super) cells: usize,
}

impl Scale {
    /// Creates a scale. Each cell spans at least one nanosecond.
    pub(super) fn new(window: &Window, cells: usize) -> Self {
        let cells = cells.max(1);
        let length_ns = window.to_ns.saturating_sub(window.from_ns);
        Scale {
            from_ns: window.from_ns,
            length_ns: length_ns.max(cells as u64),
            cells,
        }
    }

    /// Returns the start of a cell. The cell after the last one starts at the end of the window.
    pub(super) fn begin_ns(&self, cell: usize) -> u64 {
        let offset = u128::from(self.length_ns) * cell as u128 / self.cells as u128;
        let offset = u64::try_from(offset).unwrap_or(u64::MAX);
        self.from_ns.saturating_add(offset)
    }

    /// Returns the cell of a time, or `None` outside of the window.
    pub(super) fn cell(&self, at_ns: u64) -> Option<usize> {
        let offset = at_ns.checked_sub(self.from_ns)?;
        if offset > self.length_ns {
            return None;
        }
        let cell = u128::from(offset) * self.cells as u128 / u128::from(self.length_ns);
        Some((cell as usize).min(self.cells - 1))
    }

    /// Returns the first and the last cell that a span touches, or `None` outside of the window.
    pub(super) fn touched(&self, from_ns: u64, to_ns: u64) -> Option<(usize, usize)> {
        let end_ns = self.begin_ns(self.cells);
        if to_ns < self.from_ns || from_ns > end_ns || to_ns < from_ns {
            return None;
        }
        let first = self.cell(from_ns.max(self.from_ns))?;
        // A span excludes its end: if it ends where a cell begins, it does not touch that cell.
        let last_ns = to_ns.min(end_ns).saturating_sub(1).max(self.from_ns);
        let last = self.cell(last_ns)?;
        Some((first, last.max(first)))
    }

    /// Returns the nanoseconds of the span that are in the cell.
    pub(super) fn share_ns(&self, cell: usize, from_ns: u64, to_ns: u64) -> u64 {
        let from_ns = from_ns.max(self.begin_ns(cell));
        to_ns.min(self.begin_ns(cell + 1)).saturating_sub(from_ns)
    }

    /// Returns the axis: a ruler and its labels, for the lines under the cells.
    pub(super) fn axis(&self) -> (Line, Line) {
        let step_ns = round_up(self.length_ns / (self.cells as u64) * LABEL_EVERY);
        let mut ruler: Vec<char> = vec!['─'; self.cells];
        let mut labels = Line::new();
        let mut tick_ns = self.from_ns.div_ceil(step_ns).saturating_mul(step_ns);
        while let Some(cell) = self.cell(tick_ns) {
            let label = seconds(tick_ns, step_ns);
            let free = labels.width() == 0 || labels.width() < cell;
            if free && cell + columns(&label) <= self.cells {
                ruler[cell] = '┬';
                labels = labels.pad_to(cell).styled(FAINT, &label);
            }
            match tick_ns.checked_add(step_ns) {
                Some(next_ns) => tick_ns = next_ns,
                None => break,
            }
        }
        let ruler: String = ruler.into_iter().collect();
        (Line::new().styled(FAINT, &ruler), labels)
    }
}

/// Rounds up to the next 1, 2 or 5 times a power of ten.
fn round_up(ns: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= ns || step == u64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Formats seconds with as many decimals as the step requires.
fn seconds(at_ns: u64, step_ns: u64) -> String {
    let decimals = (0..9).find(|d| step_ns.is_multiple_of(10_u64.pow(9 - d)));
    let decimals = decimals.unwrap_or(9) as usize;
    let fraction = format!("{:09}", at_ns % 1_000_000_000);
    match decimals {
        0 => format!("{} s", at_ns / 1_000_000_000),
        _ => format!("{}.{} s", at_ns / 1_000_000_000, &fraction[..decimals]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(from_ns: u64, to_ns: u64, cells: usize) -> Scale {
        let window = Window {
            from_ns,
            to_ns,
            lock: 0,
        };
        Scale::new(&window, cells)
    }

    #[test]
    fn span_touches_the_cells_it_reaches_into() {
        let scale = scale(0, 100, 10);
        assert_eq!(scale.touched(0, 10), Some((0, 0)));
        assert_eq!(scale.touched(5, 11), Some((0, 1)));
        assert_eq!(scale.touched(95, 500), Some((9, 9)));
        assert_eq!(scale.touched(101, 500), None);
        assert_eq!(scale.share_ns(0, 5, 11), 5);
        assert_eq!(scale.share_ns(1, 5, 11), 1);
    }

    #[test]
    fn axis_labels_are_round_numbers() {
        let scale = scale(950_000_000, 1_950_000_000, 60);
        let (ruler, labels) = scale.axis();
        let ruler = ruler.render();
        let ticks: Vec<usize> = ruler
            .as_str()
            .chars()
            .filter(|c| matches!(c, '─' | '┬'))
            .enumerate()
            .filter_map(|(cell, c)| (c == '┬').then_some(cell))
            .collect();
        let expected = [10, 12, 14, 16, 18].map(|tenth| scale.cell(tenth * 100_000_000));
        assert_eq!(ticks.into_iter().map(Some).collect::<Vec<_>>(), expected);
        for label in ["1.0 s", "1.2 s", "1.8 s"] {
            assert!(labels.render().as_str().contains(label), "{label}");
        }
    }

    #[test]
    fn extreme_windows_have_an_axis() {
        scale(0, u64::MAX, 40).axis();
        scale(u64::MAX, u64::MAX, 40).axis();
        scale(7, 7, 200).axis();
    }
}
