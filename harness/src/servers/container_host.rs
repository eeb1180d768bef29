//! Prepares what all containers of a run share: the image, the network, and their registration with the reaper.

use bollard::Docker;
use picklock_scenarios::Persistence;

use super::reaper::ContainerWatch;
use super::{BackendError, Image, Layout, Reaper, engine, server_network};

/// The parts that all containers of a run's servers share.
pub(super) struct ContainerHost {
    pub engine: Docker,
    pub image: Image,
    /// The server program in the image.
    pub program: String,
    /// The network of the run's servers.
    pub network: String,
    /// The process that owns the containers, as the value of their label.
    pub owner: String,
    /// The user for a server whose data directory is on this machine, chosen so that this process can change the
    /// server's files, or `None` for the image's own user.
    pub user: Option<String>,
    pub watch: ContainerWatch,
}

impl ContainerHost {
    /// Creates the network, after pulling the image if necessary.
    ///
    /// # Errors
    /// Returns an error if no engine answers, the image cannot be pulled, or the reaper is gone.
    pub(super) async fn prepare(
        image: &Image,
        layout: Layout,
        reaper: &Reaper,
    ) -> Result<ContainerHost, BackendError> {
        let engine = engine::connect().await?;
        image.fetch(&engine).await?;
        let program = image.program(&engine).await?;
        let user = match layout.persistence {
            Persistence::AofEverysec => engine::user_of_our_files(&engine).await,
            _ => None,
        };
        let watch = reaper.register_containers()?;
        let owner = reaper.owner().to_string();
        let network = server_network::create(&engine, watch.run(), &owner).await?;
        Ok(ContainerHost {
            engine,
            image: image.clone(),
            program,
            network,
            owner,
            user,
            watch,
        })
    }

    /// Returns the value of the label `picklock.run`.
    pub(super) fn run(&self) -> &str {
        self.watch.run()
    }
}
