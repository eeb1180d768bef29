//! Actions on the data and the settings of nodes.

use picklock_scenarios::DataAction;

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, DataChange, Refusal};

impl<W: Backend> Nemesis<W> {
    pub(super) async fn apply_to_data(
        &self,
        fault: u32,
        action: &DataAction,
        nodes: &[usize],
    ) -> Result<(), Refusal> {
        let change = match action {
            DataAction::Evict(keys) => DataChange::Evict(self.keys_of(keys.as_deref())),
            DataAction::FlushAll => DataChange::FlushAll,
            DataAction::FlushScripts => DataChange::FlushScripts,
            DataAction::Exhaust(resource) => DataChange::Exhaust(*resource),
        };
        let mut evicted = 0;
        for node in nodes {
            evicted += self.context.backend.change_data(*node, &change).await?;
            if let DataChange::Exhaust(resource) = change {
                let step = Undo::Replenish(*node, resource);
                self.ongoing.record(fault, step);
            }
        }
        // If none of the keys exists, the fault has not struck.
        if matches!(change, DataChange::Evict(_)) && evicted == 0 {
            let reason = "no lock was held: there was no key to evict";
            return Err(Refusal::Failed(reason.into()));
        }
        Ok(())
    }

    /// The names of the keys with these numbers; `None`: of all.
    fn keys_of(&self, numbers: Option<&[usize]>) -> Vec<String> {
        let all = self.context.spec.keys();
        match numbers {
            None => all,
            Some(numbers) => {
                let named = numbers.iter().filter_map(|key| all.get(*key).cloned());
                named.collect()
            }
        }
    }
}
