//! docs/trial.md, followed: its crate stands outside the workspace, and its tests run.

mod built;
