/// What a kind of fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strikes {
    /// Workers: their processes or clocks.
    Workers,
    /// Nodes: their processes, roles, data or clocks.
    Nodes,
    /// The links between workers and nodes.
    Links,
}
