//! What a whole frame is: a request, the answer to one, or neither.

use super::command::{self, Keys, Request};
use super::frame_meta::FrameMeta;
use super::operation::Operation;
use super::pending::Pending;
use super::reply_kind::ReplyKind;
use super::scan::Shape;

/// What a whole frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameRole {
    /// A command.
    Request,
    /// It answers a request.
    Answer,
    /// A message, an empty line, or bytes that are no frame.
    Neither,
}

/// What a frame is, and what is known about it. It came at `at_ns`, during an operation of its worker. An
/// answer takes its request from `pending`.
pub(super) fn identify(
    frame: &[u8],
    shape: Shape,
    (at_ns, operation): (u64, Operation),
    keys: &Keys,
    pending: &mut Pending,
) -> (FrameRole, FrameMeta) {
    let none = Request::none(operation);
    let (role, request) = match shape {
        Shape::Command | Shape::Inline => {
            let request = command::read(frame, shape, keys, operation);
            (FrameRole::Request, request)
        }
        Shape::Blank | Shape::Raw => (FrameRole::Neither, none),
        Shape::Plain | Shape::Error | Shape::Composite => {
            let answered = pending.answered_by(match shape {
                Shape::Plain => ReplyKind::Answer,
                Shape::Error => ReplyKind::Error,
                _ => ReplyKind::of(frame),
            });
            match answered {
                Some(request) => (FrameRole::Answer, request),
                None => (FrameRole::Neither, none),
            }
        }
    };
    let meta = FrameMeta {
        at_ns,
        request,
        shape,
    };
    (role, meta)
}
