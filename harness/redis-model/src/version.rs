//! Which server is modelled: options and commands depend on the version.

/// The servers that can be modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ServerVersion {
    /// Redis 7.0, the one that the model is compared with.
    #[default]
    Redis70,
    /// Redis 7.4.
    Redis74,
    /// Redis 8.4: `SET` with `IFEQ` and its relatives, `DELEX`.
    Redis84,
    /// Valkey 8.1: `SET` with `IFEQ`.
    Valkey81,
    /// Valkey 9.0: `DELIFEQ`.
    Valkey90,
}

impl ServerVersion {
    /// The version number in `HELLO` and `INFO`.
    pub fn number(self) -> &'static str {
        match self {
            ServerVersion::Redis70 => "7.0.15",
            ServerVersion::Redis74 => "7.4.0",
            ServerVersion::Redis84 => "8.4.0",
            ServerVersion::Valkey81 => "8.1.0",
            ServerVersion::Valkey90 => "9.0.0",
        }
    }

    /// The server name in `HELLO`.
    pub fn server(self) -> &'static str {
        match self {
            ServerVersion::Valkey81 | ServerVersion::Valkey90 => "valkey",
            _ => "redis",
        }
    }

    /// `SET key value IFEQ match`.
    pub(super) fn has_set_ifeq(self) -> bool {
        matches!(
            self,
            ServerVersion::Redis84 | ServerVersion::Valkey81 | ServerVersion::Valkey90
        )
    }

    /// `SET` with `IFNE`, `IFDEQ`, `IFDNE`, and `DELEX`.
    pub(super) fn has_delex(self) -> bool {
        self == ServerVersion::Redis84
    }

    /// `DELIFEQ`.
    pub(super) fn has_delifeq(self) -> bool {
        self == ServerVersion::Valkey90
    }

    /// `CLIENT SETINFO`, sets in insertion order, short doubles: all since 7.2.
    pub(super) fn since_72(self) -> bool {
        self != ServerVersion::Redis70
    }
}
