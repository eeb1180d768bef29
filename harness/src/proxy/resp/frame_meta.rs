use crate::proxy::command_log::operation::Operation;
use crate::proxy::resp::command::Request;
use crate::proxy::resp::scan::Shape;

/// What the proxy knows about a frame besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct FrameMeta {
    /// When it came, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// The request that it is, or that it answers.
    pub request: Request,
    /// How it is built.
    pub shape: Shape,
}

impl FrameMeta {
    /// Something that is neither a request nor an answer: a message, or bytes that are no frame.
    pub(in crate::proxy) fn unrequested(at_ns: u64, operation: Operation, shape: Shape) -> Self {
        FrameMeta {
            at_ns,
            request: Request::none(operation),
            shape,
        }
    }

    /// True for bytes that are no frame.
    pub(in crate::proxy) fn is_raw(&self) -> bool {
        self.shape == Shape::Raw
    }

    /// True for a command or a reply: what an interceptor sees, and what a fault can drop.
    pub(in crate::proxy) fn is_message(&self) -> bool {
        !matches!(self.shape, Shape::Raw | Shape::Blank)
    }

    /// The command that it is, or answers; `None`: it is no message.
    pub(in crate::proxy) fn command(&self) -> Option<&str> {
        self.is_message().then(|| self.request.command.as_str())
    }
}
