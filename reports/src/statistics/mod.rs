//! Inference from samples: intervals of quantiles, medians and proportions.
//!
//! - [`Estimate`]: a quantile of latencies with an interval from order statistics
//! - [`median_interval`]: a median with the exact interval of the sign test
//! - [`Rate`]: a proportion with its bounds, the exact interval of Clopper and Pearson
//!
//! Quantiles and medians both use binomial ranks, [`enclosing_ranks`].

mod binomial_ranks;
mod clopper_pearson;
mod median_interval;
mod proportion;
mod quantile_interval;

pub use binomial_ranks::enclosing_ranks;
pub use median_interval::{Interval, median_interval};
pub use proportion::{CONFIDENCE_PERCENT, Rate, Round, per_cent};
pub use quantile_interval::{Estimate, TAIL, estimate};
