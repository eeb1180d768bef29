//! Detects whether a connection of the harness to a server failed because this process lacks a resource.

use std::error::Error;
use std::io;
use std::sync::Arc;

use super::ServerBackend;
use crate::proxy::is_resource_exhaustion;

impl ServerBackend {
    /// Records an incident if an operation failed because this process has run out of a resource. The failed
    /// observation then proves nothing about the lock.
    pub(super) fn record_exhaustion(&self, what: &str, error: &(dyn Error + 'static)) {
        if is_caused_by_exhaustion(error) {
            self.parts.proxy.record_incident(format!("{what}: {error}"));
        }
    }
}

/// Returns `true` if the error or one of its causes is a lack of resources.
fn is_caused_by_exhaustion(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if io_error(cause).is_some_and(is_resource_exhaustion) {
            return true;
        }
        next = cause.source();
    }
    false
}

/// Extracts an I/O error. The client library wraps its errors in an `Arc`, and the chain of causes contains the `Arc`.
fn io_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    match cause.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        Some(shared) => shared.downcast_ref(),
        None => cause.downcast_ref(),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn exhaustion_is_found_behind_errors_of_the_client_library() {
        let full = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        assert!(is_caused_by_exhaustion(&redis::RedisError::from(full)));
        let gone = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(!is_caused_by_exhaustion(&redis::RedisError::from(gone)));
    }
}
