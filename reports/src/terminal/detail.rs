//! How much of a run a report shows.

/// How much of a run a report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The answer, and the picture that explains it.
    Answer,
    /// The answer, and also every verdict, story, fault, latency and node.
    Everything,
}

impl Detail {
    /// Returns the detail that `--verbose` asks for.
    pub fn new(verbose: bool) -> Detail {
        if verbose {
            Detail::Everything
        } else {
            Detail::Answer
        }
    }
}
