//! The words of a command on its way.

/// A command's name and arguments, in one piece.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    /// None yet, with room for what most commands have: a script's hash, a key, and a token.
    pub(super) fn with_room() -> Self {
        Args {
            data: Vec::with_capacity(160),
            ends: Vec::with_capacity(8),
        }
    }

    pub(super) fn push(&mut self, arg: &[u8]) {
        self.data.extend_from_slice(arg);
        self.ends.push(self.data.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.data[begin..*end])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All arguments run together: where a name is looked for.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Worth keeping for another command: not as large as few ever are.
    pub(super) fn is_usual(&self) -> bool {
        self.data.capacity() <= 4096
    }

    /// Empty, with the room that it has.
    pub(super) fn cleared(mut self) -> Self {
        self.data.clear();
        self.ends.clear();
        self
    }
}
