//! What a whole frame is: a request, the answer to one, or neither.

use super::command::{self, Keys};
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
    let unrequested = FrameMeta::unrequested(at_ns, operation, shape);
    let kind = match shape {
        Shape::Command | Shape::Inline => {
            let request = command::read(frame, shape, keys, operation);
            return (
                FrameRole::Request,
                FrameMeta {
                    at_ns,
                    request,
                    shape,
                },
            );
        }
        Shape::Blank | Shape::Raw => return (FrameRole::Neither, unrequested),
        Shape::Plain => ReplyKind::Answer,
        Shape::Error => ReplyKind::Error,
        Shape::Composite => ReplyKind::of(frame),
    };
    match pending.answered_by(kind) {
        Some(request) => (
            FrameRole::Answer,
            FrameMeta {
                at_ns,
                request,
                shape,
            },
        ),
        None => (FrameRole::Neither, unrequested),
    }
}
