//! The data of a server in a container, kept in a directory of this machine, so that a power loss can
//! cut the append-only file.
//!
//! The engine must run on this machine, and reach the run's directory: an engine that cannot mount the
//! directory refuses to start the container.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use testcontainers::core::Mount;
use testcontainers::{ContainerRequest, GenericImage, ImageExt};

use super::BackendError;
use super::error::io_error;
use super::power_loss::UnsyncedTail;

/// Where the images let their server keep its data.
const DATA_IN_CONTAINER: &str = "/data";

/// Where the servers of a run keep their data, and who owns it.
#[derive(Debug)]
pub(super) struct DataDirectories {
    dir: PathBuf,
    user: Option<String>,
}

impl DataDirectories {
    /// Below `dir`, which must be absolute. `user`: the one that a server must run as so that its
    /// files are ours; `None` for the user that the image chooses.
    pub(super) fn below(dir: &Path, user: Option<String>) -> DataDirectories {
        DataDirectories {
            dir: dir.to_owned(),
            user,
        }
    }

    /// A directory for the server of this name.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) fn create(&self, name: &str) -> Result<ContainerData, BackendError> {
        let path = self.dir.join(name);
        std::fs::create_dir_all(&path).map_err(io_error(format!("make {}", path.display())))?;
        Ok(ContainerData {
            name: name.to_owned(),
            path,
            user: self.user.clone(),
            unsynced_tail: Mutex::default(),
        })
    }
}

/// The data of one server, which outlives its process.
#[derive(Debug)]
pub(super) struct ContainerData {
    name: String,
    path: PathBuf,
    user: Option<String>,
    /// What a power loss would remove; `None` while the server is down.
    unsynced_tail: Mutex<Option<UnsyncedTail>>,
}

impl ContainerData {
    /// A container that keeps its data here.
    pub(super) fn mounted(
        &self,
        request: ContainerRequest<GenericImage>,
    ) -> ContainerRequest<GenericImage> {
        let mount = Mount::bind_mount(self.path.to_string_lossy(), DATA_IN_CONTAINER);
        let request = request
            .with_mount(mount)
            .with_working_dir(DATA_IN_CONTAINER);
        match &self.user {
            Some(user) => request.with_user(user),
            None => request,
        }
    }

    /// The server is ready: the data that it has loaded is durable, and what it appends from now on
    /// is not yet.
    pub(super) fn begin(&self) {
        *self.tail() = Some(UnsyncedTail::watch(&self.path));
    }

    /// The time of a power loss, for [`cut`](ContainerData::cut); `None` if the server is down.
    pub(super) fn now_ns(&self) -> Option<u64> {
        self.tail().as_ref().map(UnsyncedTail::now_ns)
    }

    /// Removes from the dead server's file what was not durable when the power was lost.
    ///
    /// # Errors
    /// The file cannot be cut, or was never seen.
    pub(super) fn cut(&self, lost_at_ns: u64) -> Result<(), BackendError> {
        let doing = format!("cut the append-only file of {}", self.name);
        match self.tail().take() {
            Some(unsynced_tail) => unsynced_tail.cut(lost_at_ns).map_err(io_error(doing)),
            None => Ok(()),
        }
    }

    fn tail(&self) -> MutexGuard<'_, Option<UnsyncedTail>> {
        let tail = self.unsynced_tail.lock();
        tail.unwrap_or_else(PoisonError::into_inner)
    }
}
