//! What a reader knows of each attempt that is under way.

/// One value for each attempt that is under way, by the number of the attempt. A worker has one attempt
/// at a time, so there are few of them: a list is searched sooner than a tree.
#[derive(Debug, Clone)]
pub struct UnderWay<T>(Vec<(u64, T)>);

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay(Vec::new())
    }
}

impl<T> UnderWay<T> {
    /// An attempt begins. What was known of one with the same number is forgotten.
    pub fn begin(&mut self, op: u64, value: T) {
        self.end(op);
        self.0.push((op, value));
    }

    /// What is known of an attempt; `None`: it is not under way.
    pub fn get(&self, op: u64) -> Option<&T> {
        let mut latest = self.0.iter().rev();
        latest.find(|known| known.0 == op).map(|known| &known.1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, op: u64) -> Option<&mut T> {
        let mut latest = self.0.iter_mut().rev();
        latest.find(|known| known.0 == op).map(|known| &mut known.1)
    }

    /// The attempt is over. Returns what was known of it.
    pub fn end(&mut self, op: u64) -> Option<T> {
        let index = self.0.iter().rposition(|known| known.0 == op)?;
        Some(self.0.swap_remove(index).1)
    }
}
