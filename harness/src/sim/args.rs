//! The words of a command that travels on the simulated network.

/// A command's name and arguments, in one buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Args {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Args {
    /// Creates an empty buffer that has enough capacity for most commands: a script's hash, a key and a token.
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

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.data[begin..*end])
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns all words concatenated, for searching.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns `true` if the buffer is small enough to be reused, as it is for nearly all commands.
    pub(super) fn is_usual(&self) -> bool {
        self.data.capacity() <= 4096
    }

    pub(super) fn cleared(mut self) -> Self {
        self.data.clear();
        self.ends.clear();
        self
    }
}
