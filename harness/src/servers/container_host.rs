use bollard::Docker;
use picklock_scenarios::Persistence;

use super::reaper::ContainerWatch;
use super::{BackendError, Image, Layout, Reaper, engine, server_network};

/// What all containers of a run's servers have in common.
pub(super) struct ContainerHost {
    pub engine: Docker,
    pub image: Image,
    /// The server program in the image.
    pub program: String,
    /// The network of the run's servers.
    pub network: String,
    /// Who owns them: the value of their label.
    pub owner: String,
    /// The user that a server with data of ours must run as so that its files are ours; `None` for the
    /// user that the image chooses.
    pub user: Option<String>,
    pub watch: ContainerWatch,
}

impl ContainerHost {
    /// Makes the network, after pulling the image if necessary.
    /// `Err`: no engine answers, the image cannot be pulled, or the reaper is gone.
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
        let watch = reaper.fresh_containers()?;
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

    /// The value of the label `picklock.run`.
    pub(super) fn run(&self) -> &str {
        self.watch.run()
    }
}
