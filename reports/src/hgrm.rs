//! Percentile distributions as text, in the format of HdrHistogram's
//! `outputPercentileDistribution`, which its plotters read.
//!
//! The iteration follows the reference implementation (HdrHistogram for Java) step by step. The
//! Rust crate reports other levels for few values, and a plot must not depend on the tool that
//! wrote the file.

use std::fmt::Write;

use hdrhistogram::Histogram;

use crate::distribution;
use crate::file_name::Names;
use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

/// Number of levels between a percentile and the one half as far from 100 %.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// Histograms are in microseconds, the plotters' axis in milliseconds.
const US_IN_A_MS: f64 = 1_000.0;

/// `--format hgrm`.
pub const FORMAT: Format = Format {
    name: "hgrm",
    ending: ".hgrm",
    about: "percentile distributions for HdrHistogram's plotters, one file per cell and operation",
    write: files,
};

/// One file under `latency/` for each cell and operation with any values.
///
/// # Errors
/// A histogram does not decode, or no operation succeeded in any cell.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let mut names = Names::default();
    let files = distribution::all(&input.matrix.cells, "hgrm").map(|one| {
        let (cell, operation, histogram) = one?;
        let parts = [
            &cell.lock.name,
            &cell.scenario,
            cell.backend.word(),
            operation,
        ];
        Ok(File {
            name: format!("latency/{}.hgrm", names.take(&parts)),
            bytes: text(&histogram).into_bytes(),
        })
    });
    files.collect()
}

/// The distribution of a histogram of microseconds, in milliseconds.
pub fn text(histogram: &Histogram<u64>) -> String {
    let digits = usize::from(histogram.sigfig());
    let mut out = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for step in steps(histogram) {
        let value = step.value_us as f64 / US_IN_A_MS;
        let quantile = step.level / 100.0;
        let (value, percentile) = (fixed(value, digits), fixed(quantile, 12));
        write!(out, "{value:>12} {percentile} {:>10}", step.count).ok();
        // The last step is the maximum, whose distance to 100 % is zero.
        if step.level < 100.0 {
            let distance = fixed(1.0 / (1.0 - quantile), 2);
            write!(out, " {distance:>14}").ok();
        }
        out.push('\n');
    }
    let mean = fixed(histogram.mean() / US_IN_A_MS, digits);
    let deviation = fixed(histogram.stdev() / US_IN_A_MS, digits);
    let max = fixed(histogram.max() as f64 / US_IN_A_MS, digits);
    let (buckets, sub_buckets) = buckets(histogram);
    writeln!(
        out,
        "#[Mean    = {mean:>12}, StdDeviation   = {deviation:>12}]"
    )
    .ok();
    writeln!(
        out,
        "#[Max     = {max:>12}, Total count    = {:>12}]",
        histogram.len()
    )
    .ok();
    writeln!(
        out,
        "#[Buckets = {buckets:>12}, SubBuckets     = {sub_buckets:>12}]"
    )
    .ok();
    out
}

/// A non-negative number with this many decimals. Halves are rounded up, as in the reference, which
/// rounds the shortest decimal that represents the number; half of all percentiles past 99.9 % are
/// halves.
fn fixed(number: f64, decimals: usize) -> String {
    let shortest = format!("{number}");
    let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
    let Some(next) = fraction.as_bytes().get(decimals) else {
        return format!("{whole}.{fraction:0<decimals$}");
    };
    let kept = format!("{whole}{}", &fraction[..decimals]);
    // Only infinity and numbers beyond all counts do not fit.
    let Ok(mut scaled) = kept.parse::<u128>() else {
        return format!("{number:.decimals$}");
    };
    scaled += u128::from(*next >= b'5');
    let digits = format!("{scaled:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    format!("{whole}.{fraction}")
}

/// One line of the distribution.
struct Step {
    value_us: u64,
    /// Percent.
    level: f64,
    /// Values up to this one.
    count: u64,
}

fn steps(histogram: &Histogram<u64>) -> Vec<Step> {
    let total = histogram.len();
    let mut steps = Vec::new();
    let (mut level, mut count) = (0.0, 0);
    for recorded in histogram.iter_recorded() {
        count += recorded.count_at_value();
        let value_us = histogram.highest_equivalent(recorded.value_iterated_to());
        while 100.0 * count as f64 / total as f64 >= level {
            steps.push(Step {
                value_us,
                level,
                count,
            });
            level += tick(level);
            if count >= total {
                steps.push(Step {
                    value_us,
                    level: 100.0,
                    count,
                });
                return steps;
            }
        }
    }
    steps
}

/// The distance to the next level: the number of times the distance to 100 % was halved, each with
/// the same number of ticks.
fn tick(level: f64) -> f64 {
    // Computed as in the reference: `log2` would sometimes round differently.
    let halvings = ((100.0 / (100.0 - level)).ln() / 2_f64.ln()).trunc() + 1.0;
    100.0 / (f64::from(TICKS_PER_HALF_DISTANCE) * halvings.exp2())
}

/// The number of buckets in the reference's layout, and the number of sub-buckets in each.
fn buckets(histogram: &Histogram<u64>) -> (u32, u64) {
    let parts = (2 * 10_u64.pow(u32::from(histogram.sigfig()))).next_power_of_two();
    let mut untrackable = u128::from(parts) << histogram.low().max(1).ilog2();
    let mut buckets = 1;
    while untrackable <= u128::from(histogram.high()) {
        untrackable <<= 1;
        buckets += 1;
    }
    (buckets, parts)
}

#[cfg(test)]
mod tests {
    use super::fixed;

    #[test]
    fn halves_go_up() {
        let cases = [
            (0.0, 2, "0.00"),
            (0.999_780_273_437_5, 12, "0.999780273438"),
            (0.999_999, 2, "1.00"),
            (9.995, 2, "10.00"),
            (12.0, 3, "12.000"),
            (0.000_000_000_000_4, 12, "0.000000000000"),
            (4_551.111_1, 2, "4551.11"),
        ];
        for (number, decimals, shown) in cases {
            assert_eq!(fixed(number, decimals), shown);
        }
    }
}
