//! Finds and classifies the frames of a RESP byte stream.

pub(super) mod command;
pub(super) mod frame_budget;
pub(super) mod frame_meta;
pub(super) mod frame_reader;
pub(super) mod reply_items;
pub(super) mod reply_kind;
pub(super) mod reply_scan;
pub(super) mod reply_stream;
pub(super) mod request_scan;
pub(super) mod scan;
#[cfg(test)]
mod scan_proptests;
