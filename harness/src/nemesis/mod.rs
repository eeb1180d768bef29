//! What makes things go wrong, and when.

mod moments;
mod strike;
mod target;

pub use moments::{Happening, Moments, Site, Strike};
pub use strike::Nemesis;
