//! One change of one key.

use std::sync::Arc;

use crate::history::{KeyChange, KeyName};

/// A change, with its time.
pub struct KeyRecord {
    pub(crate) at_ns: u64,
    pub(crate) key: KeyName,
    pub(crate) value: Option<Arc<str>>,
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) why: KeyChange,
}
