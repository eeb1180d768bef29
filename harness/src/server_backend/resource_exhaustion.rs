//! What the harness's own connections to the servers could not do, because this process has run out of
//! something.

use std::error::Error;
use std::io;
use std::sync::Arc;

use super::ServerBackend;
use crate::proxy::is_resource_exhaustion;

impl ServerBackend {
    /// Notes that a look at a server failed, if the reason is a shortage of this process: then what was
    /// not seen says nothing about the lock.
    pub(super) fn record_if_exhausted(&self, what: &str, error: &(dyn Error + 'static)) {
        if is_from_resource_exhaustion(error) {
            self.parts.proxy.record_incident(format!("{what}: {error}"));
        }
    }
}

/// True if the error, or what it came from, is a shortage.
fn is_from_resource_exhaustion(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if io_error(cause).is_some_and(is_resource_exhaustion) {
            return true;
        }
        next = cause.source();
    }
    false
}

/// The client library shares its errors: what stands in the chain is the pointer.
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
    fn a_shortage_is_found_behind_the_errors_of_the_client_library() {
        let full = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        assert!(is_from_resource_exhaustion(&redis::RedisError::from(full)));
        let gone = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(!is_from_resource_exhaustion(&redis::RedisError::from(gone)));
    }
}
