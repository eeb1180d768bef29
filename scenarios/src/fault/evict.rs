//! `evict`: the keys of locks are deleted on the node, as eviction under `maxmemory` would do.

use super::describe::numbers;
use super::{Action, Affects, DataAction, FaultPlan, Field, Kind, Lasts};
use crate::cause::Cause;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

pub(super) const KIND: Kind = Kind {
    does: "deletes lock keys on {}",
    optional: &[Field::Keys, Field::Nodes],
    check,
    lasts: |_| Lasts::AtOnce,
    detail: |plan| Some(format!("key{}", numbers(plan.keys.as_ref()?))),
    loss_cause: Some(Cause::Evicted),
    is_instantaneous: true,
    ..Kind::new("evict", Affects::Nodes, |plan| {
        Some(vec![Action::Data(DataAction::Evict(plan.keys.clone()))])
    })
};

fn check(plan: &FaultPlan, _: &Topology, workload: &Workload) -> Result<(), Problem> {
    let Some(keys) = &plan.keys else {
        return Ok(());
    };
    if keys.is_empty() {
        let hint = "name locks by number (`keys = [0]`), or omit `keys` for all of them";
        return Err(Problem::at(&["keys"], "no keys: the fault would do nothing").hint(hint));
    }
    let count = workload.keys;
    match keys.iter().find(|key| **key >= count) {
        None => Ok(()),
        Some(key) => {
            let text = format!("there is no key {key}: the workload has {count}, numbered from 0");
            let hint = format!("set `workload.keys` to {} or more", key + 1);
            Err(Problem::at(&["keys"], text).hint(hint))
        }
    }
}
