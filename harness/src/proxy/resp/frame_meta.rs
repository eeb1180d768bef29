//! What the proxy knows about a frame apart from its bytes.

use crate::proxy::operation::Operation;
use crate::proxy::resp::command::Request;
use crate::proxy::resp::scan::Shape;

/// The metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) struct FrameMeta {
    /// When the frame arrived, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// The request that the frame is or answers.
    pub request: Request,
    /// The structure of the frame.
    pub shape: Shape,
}

impl FrameMeta {
    /// Returns the metadata of a frame that is neither a request nor a reply: a message, or bytes that are not
    /// RESP.
    pub(in crate::proxy) fn unrequested(at_ns: u64, operation: Operation, shape: Shape) -> Self {
        FrameMeta {
            at_ns,
            request: Request::none(operation),
            shape,
        }
    }

    /// Returns `true` if these are bytes that are not RESP.
    pub(in crate::proxy) fn is_raw(&self) -> bool {
        self.shape == Shape::Raw
    }

    /// Returns `true` for a command, a reply, or another message of the server. Only these are passed to an
    /// interceptor, and can be dropped by a fault.
    pub(in crate::proxy) fn is_message(&self) -> bool {
        !matches!(self.shape, Shape::Raw | Shape::Blank)
    }

    /// Returns the command that the frame is or answers, which is empty for a message that answers none. Returns `None`
    /// for an empty line and for bytes that are not RESP.
    pub(in crate::proxy) fn command(&self) -> Option<&str> {
        self.is_message().then(|| self.request.command.as_str())
    }
}
