//! The modelled server version, on which options, commands and errors depend.

/// The servers that can be modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ServerVersion {
    /// Redis 6.2.
    Redis62,
    /// Redis 7.0.
    #[default]
    Redis70,
    /// Redis 8.0.
    Redis80,
    /// Redis 8.4: `SET` with `IFEQ` and its relatives, `DELEX`. Not compared with a real server.
    Redis84,
    /// Valkey 8.1: `SET` with `IFEQ`.
    Valkey81,
    /// Valkey 9.1: `DELIFEQ`.
    Valkey91,
}

impl ServerVersion {
    /// All versions. Within each family they are ordered from old to new.
    pub const ALL: [ServerVersion; 6] = [
        ServerVersion::Redis62,
        ServerVersion::Redis70,
        ServerVersion::Redis80,
        ServerVersion::Redis84,
        ServerVersion::Valkey81,
        ServerVersion::Valkey91,
    ];

    /// Returns the version number in `HELLO` and `INFO`.
    pub fn number(self) -> &'static str {
        match self {
            ServerVersion::Redis62 => "6.2.14",
            ServerVersion::Redis70 => "7.0.15",
            ServerVersion::Redis80 => "8.0.2",
            ServerVersion::Redis84 => "8.4.0",
            ServerVersion::Valkey81 => "8.1.1",
            ServerVersion::Valkey91 => "9.1.2",
        }
    }

    /// Returns the Redis version that scripts and clients see. Valkey reports the Redis version with which it is
    /// compatible.
    pub fn redis_number(self) -> &'static str {
        if self.is_valkey() {
            "7.2.4"
        } else {
            self.number()
        }
    }

    /// Returns the server name in `HELLO`.
    pub fn server(self) -> &'static str {
        if self.is_valkey() { "valkey" } else { "redis" }
    }

    /// Returns the model for a server with this name and version: the newest model of its family that is not newer than
    /// the server, or the oldest model if all are newer. An invalid version counts as the newest.
    pub fn nearest(server: &str, version: &str) -> ServerVersion {
        let numbers = |text: &str| -> Vec<u32> {
            let parts = text.split('.').map_while(|part| part.parse().ok());
            parts.collect()
        };
        let family = ServerVersion::ALL
            .into_iter()
            .filter(|model| model.is_valkey() == (server == "valkey"));
        let wanted = numbers(version);
        // Patch versions are ignored, because the model of Valkey 8.1.1 is the best one for Valkey 8.1.0, too.
        let not_newer = |model: &ServerVersion| {
            let known = numbers(model.number());
            wanted.is_empty() || known[..2] <= wanted[..wanted.len().min(2)]
        };
        let mut family: Vec<ServerVersion> = family.collect();
        let oldest = family[0];
        family.retain(not_newer);
        family.pop().unwrap_or(oldest)
    }

    pub(super) fn is_valkey(self) -> bool {
        matches!(self, ServerVersion::Valkey81 | ServerVersion::Valkey91)
    }

    /// Returns `true` if the server has `SET key value IFEQ match`.
    pub(super) fn has_set_ifeq(self) -> bool {
        self == ServerVersion::Redis84 || self.is_valkey()
    }

    /// Returns `true` if the server has `DELEX`, and `SET` with `IFNE` and others.
    pub(super) fn has_delex(self) -> bool {
        self == ServerVersion::Redis84
    }

    /// Returns `true` if the server has `DELIFEQ`.
    pub(super) fn has_delifeq(self) -> bool {
        self == ServerVersion::Valkey91
    }

    /// Returns `true` if `GETEX` rejects an invalid expiry even for a missing key.
    pub(super) fn reads_expiry_of_nothing(self) -> bool {
        self == ServerVersion::Valkey91
    }

    /// Returns `true` for Redis 7.0 and later, which have conditions of `EXPIRE`, `SET` with `NX` and `GET`, `EVAL_RO`
    /// and `#!lua`.
    pub(super) fn since_70(self) -> bool {
        self != ServerVersion::Redis62
    }

    /// Returns `true` for Redis 7.2 and later, which have `CLIENT SETINFO`, `BLPOP` in scripts and short texts of
    /// doubles.
    pub(super) fn since_72(self) -> bool {
        !matches!(self, ServerVersion::Redis62 | ServerVersion::Redis70)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_gets_the_nearest_model_that_is_not_newer() {
        for version in ServerVersion::ALL {
            let nearest = ServerVersion::nearest(version.server(), version.number());
            assert_eq!(nearest, version);
        }
        let redis = |number| ServerVersion::nearest("redis", number);
        assert_eq!(redis("5.0.3"), ServerVersion::Redis62);
        assert_eq!(redis("7.0.0"), ServerVersion::Redis70);
        assert_eq!(redis("7.4.1"), ServerVersion::Redis70);
        assert_eq!(redis("8.2.1"), ServerVersion::Redis80);
        assert_eq!(redis("10.0"), ServerVersion::Redis84);
        assert_eq!(redis("unknown"), ServerVersion::Redis84);
        let valkey = |number| ServerVersion::nearest("valkey", number);
        assert_eq!(valkey("7.2.5"), ServerVersion::Valkey81);
        assert_eq!(valkey("8.1.0"), ServerVersion::Valkey81);
        assert_eq!(valkey("9.0.1"), ServerVersion::Valkey81);
        assert_eq!(valkey("9.2"), ServerVersion::Valkey91);
    }
}
