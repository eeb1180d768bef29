//! The effect of each command on keys and on its own connection, in one table.
//!
//! The proxy uses this table to find commands that can take a lock, and commands that only set up a connection. The
//! replay of MONITOR uses the table to decide which commands to execute. A test compares it with the model's command
//! table.
//!
//! A command that is not in the table is unknown and may have any effect.

use std::collections::HashMap;
use std::sync::LazyLock;

use CommandKind::{
    Exec, Flushes, Prolongs, ReadingScript, Reads, Removes, Replaces, Script, Server, SetUp,
    Shrinks, Transaction, Writes,
};

/// The possible effect of a command, by its name alone: its options and its reply can only reduce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// Sets up the connection, finds the master or subscribes. Other clients cannot observe the command.
    SetUp,
    /// Reads or sets properties of the server, and touches no key.
    Server,
    /// Begins, guards or discards a transaction.
    Transaction,
    /// `EXEC`, whose effects come from the commands of its transaction.
    Exec,
    /// Runs a script. Its effects come from its inner commands, which a server reports one by one.
    Script,
    /// Runs a script that only reads.
    ReadingScript,
    /// Reads keys.
    Reads,
    /// Writes a value, or adds to one.
    Writes,
    /// Writes a value whatever the key held before, even the same value.
    Replaces,
    /// Removes elements from a value, and leaves the other elements.
    Shrinks,
    /// Changes the expiry of keys or of their fields. A key whose new expiry has passed is removed.
    Prolongs,
    /// Removes keys.
    Removes,
    /// Removes all keys.
    Flushes,
}

/// Commands that a transaction does not queue.
const NEVER_QUEUED: &[&str] = &["DISCARD", "EXEC", "MULTI", "QUIT", "RESET", "WATCH"];

/// Returns `false` for a command that is executed at once even within a transaction. Ignores the case of the name.
pub fn is_queued(command: &str) -> bool {
    let is_same = |name: &&str| name.eq_ignore_ascii_case(command);
    !NEVER_QUEUED.iter().any(is_same)
}

/// Commands with which a client sets up its connection, or checks that the server is available.
const GREETINGS: &[&str] = &[
    "AUTH", "CLIENT", "COMMAND", "ECHO", "HELLO", "INFO", "PING", "READONLY", "SELECT",
];

/// Returns `true` for a command, given in upper case, with which a client sets up its connection. It affects only the
/// connection.
pub fn is_greeting(command: &str) -> bool {
    GREETINGS.contains(&command)
}

/// All known commands, in upper case, separated by blanks. For a command with subcommands, lists only the subcommands
/// whose kind differs from the command's own, spelled as Redis spells them.
///
/// For the requests to Sentinels see <https://redis.io/docs/latest/develop/reference/sentinel-clients/>.
const TABLE: &[(CommandKind, &str)] = &[
    (
        SetUp,
        "ASKING AUTH CLIENT COMMAND ECHO HELLO INFO PING PSUBSCRIBE PUNSUBSCRIBE QUIT \
         READONLY READWRITE RESET ROLE SELECT SENTINEL|GET-MASTER-ADDR-BY-NAME \
         SENTINEL|MASTER SENTINEL|MASTERS SENTINEL|REPLICAS SENTINEL|SENTINELS \
         SENTINEL|SLAVES SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE",
    ),
    (
        Server,
        "CLIENT|KILL CLIENT|PAUSE CLIENT|UNBLOCK CLIENT|UNPAUSE CLUSTER CONFIG FUNCTION \
         LASTSAVE LATENCY MEMORY MONITOR PUBLISH PUBSUB SCRIPT SLOWLOG SPUBLISH TIME WAIT \
         WAITAOF",
    ),
    (Transaction, "DISCARD MULTI UNWATCH WATCH"),
    (Exec, "EXEC"),
    (Script, "EVAL EVALSHA FCALL"),
    (ReadingScript, "EVALSHA_RO EVAL_RO FCALL_RO"),
    (
        Reads,
        "BITCOUNT BITPOS DBSIZE DUMP EXISTS EXPIRETIME GET GETBIT GETRANGE HEXISTS \
         HEXPIRETIME HGET HGETALL HKEYS HLEN HMGET HPEXPIRETIME HPTTL HRANDFIELD HSCAN \
         HSTRLEN HTTL HVALS KEYS LCS LINDEX LLEN LPOS LRANGE MGET OBJECT PEXPIRETIME PTTL \
         RANDOMKEY SCAN SCARD SISMEMBER SMEMBERS SMISMEMBER SRANDMEMBER SSCAN STRLEN SUBSTR \
         TOUCH TTL TYPE XLEN XRANGE ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE \
         ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK \
         ZSCAN ZSCORE",
    ),
    (
        Writes,
        "APPEND BLMOVE BRPOPLPUSH COPY DECR DECRBY HINCRBY HINCRBYFLOAT HMSET HSET HSETEX \
         HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET MSETNX RENAME \
         RENAMENX RESTORE RPOPLPUSH RPUSH RPUSHX SADD SETBIT SETNX SETRANGE SMOVE XADD ZADD \
         ZINCRBY",
    ),
    (Replaces, "GETSET MSET PSETEX SET SETEX"),
    (
        Shrinks,
        "BLMPOP BLPOP BRPOP BZMPOP BZPOPMAX BZPOPMIN HDEL HGETDEL LMPOP LPOP LREM LTRIM RPOP \
         SPOP SREM ZMPOP ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE",
    ),
    (
        Prolongs,
        "EXPIRE EXPIREAT GETEX HEXPIRE HEXPIREAT HGETEX HPERSIST HPEXPIRE HPEXPIREAT PERSIST \
         PEXPIRE PEXPIREAT",
    ),
    (Removes, "DEL DELEX DELIFEQ GETDEL UNLINK"),
    (Flushes, "FLUSHALL FLUSHDB"),
];

/// The table as a map from name and subcommand, because the proxy looks up the command of every frame.
static KINDS: LazyLock<HashMap<(&str, &str), CommandKind>> = LazyLock::new(|| {
    let rows = TABLE.iter();
    let names = rows.flat_map(|(kind, names)| names.split(' ').map(|name| (name, *kind)));
    let keyed = names.map(|(name, kind)| (name.split_once('|').unwrap_or((name, "")), kind));
    keyed.collect()
});

impl CommandKind {
    /// Returns the kind of a command, or `None` if it is unknown. Both words are in upper case; `subcommand` is the
    /// second word, or empty if it does not matter.
    pub fn for_command(command: &str, subcommand: &str) -> Option<Self> {
        let kinds: &HashMap<(&str, &str), CommandKind> = &KINDS;
        let whole = (!subcommand.is_empty()).then(|| kinds.get(&(command, subcommand)));
        let kind = whole.flatten().or_else(|| kinds.get(&(command, "")));
        kind.copied()
    }

    /// Returns `true` if the command can leave a new value in a key, which is how a lock is taken.
    pub fn takes(self) -> bool {
        matches!(self, Exec | Script | Writes | Replaces | Shrinks)
    }

    /// Returns `true` if the command can leave a value in a missing key. Commands that only remove elements from a
    /// value cannot.
    pub fn takes_free_key(self) -> bool {
        self.takes() && self != Shrinks
    }

    /// Returns `true` if the command itself changes keys.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Writes | Replaces | Shrinks | Prolongs | Removes | Flushes
        )
    }

    /// Returns `true` if a replay executes the command. All other commands change no keys themselves: either their
    /// inner commands are reported on separate lines, or they only affect a connection that the replay does not have.
    pub fn is_replayed(self) -> bool {
        self.writes() || self == Reads
    }

    /// Returns `true` if the command runs a script, whose commands a server reports after it.
    pub fn is_script(self) -> bool {
        matches!(self, Script | ReadingScript)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Spec;
    use crate::commands;
    use crate::{HeldValue, Now, Server, ServerVersion};

    /// Returns the model's row of a command.
    fn modelled(name: &str) -> Option<&'static Spec> {
        let mut rows = commands::TABLE.iter();
        rows.find(|spec| spec.name.eq_ignore_ascii_case(name))
    }

    #[test]
    fn modelled_command_is_known_and_writes_like_the_model() {
        for spec in commands::TABLE {
            let kind = CommandKind::for_command(&spec.name.to_ascii_uppercase(), "");
            assert_eq!(
                kind.map(CommandKind::writes),
                Some(spec.write),
                "{}",
                spec.name
            );
        }
    }

    #[test]
    fn table_row_is_unique_and_agrees_with_the_model() {
        let rows = TABLE.iter();
        let rows = rows.flat_map(|(kind, names)| names.split(' ').map(move |name| (*kind, name)));
        let mut seen = std::collections::BTreeSet::new();
        for (kind, name) in rows {
            assert!(seen.insert(name), "{name}");
            assert_eq!(name, name.to_ascii_uppercase());
            if let Some(spec) = modelled(name) {
                assert_eq!(kind.writes(), spec.write, "{name}");
            }
        }
    }

    #[test]
    fn subcommand_of_another_kind_is_distinguished_from_its_command() {
        let kind = CommandKind::for_command;
        assert_eq!(kind("CLIENT", "SETNAME"), Some(SetUp));
        assert_eq!(kind("CLIENT", "KILL"), Some(Server));
        assert_eq!(kind("SENTINEL", "MASTERS"), Some(SetUp));
        assert_eq!(kind("SENTINEL", "FAILOVER"), None);
        assert_eq!(kind("SENTINEL", ""), None);
        assert_eq!(kind("CLIENT", ""), Some(SetUp));
        assert_eq!(kind("CAS.SET", ""), None);
    }

    /// Returns the value of the key `k` before and after a command. Before the command, the key was missing if
    /// `was_free`, and otherwise contained `a` with an expiry of one second.
    fn left(line: &str, was_free: bool) -> [Option<HeldValue>; 2] {
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let mut run = |line: &str| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            server.execute(client, &words, Now::from_ms(1_000));
            server.held_value(0, b"k")
        };
        let before = if was_free {
            None
        } else {
            run("SET k a PX 1000")
        };
        [before, run(line)]
    }

    #[test]
    fn effect_of_a_command_on_a_value_agrees_with_its_kind() {
        let text = |held: &Option<HeldValue>| held.as_ref().map(|held| held.text.to_string());
        let lines = [
            "SET k b",
            "SET k b NX PX 9",
            "SET k b XX",
            "SET k b GET",
            "SETNX k b",
            "SETEX k 5 b",
            "PSETEX k 5 b",
            "GETSET k b",
            "MSET k b",
            "APPEND k b",
            "INCR k",
            "HSET k f v",
            "RPUSH k b",
            "SADD k b",
            "ZADD k 1 b",
            "GET k",
            "EXISTS k",
            "PTTL k",
            "EXPIRE k 5",
            "PEXPIRE k 5 GT",
            "PERSIST k",
            "GETEX k PX 9",
            "DEL k",
            "UNLINK k",
            "GETDEL k",
            "FLUSHALL",
            "FLUSHDB",
            "PUBLISH k b",
            "ECHO k",
            "HDEL k f",
            "SREM k b",
        ];
        for line in lines {
            let name = line.split(' ').next().unwrap();
            if modelled(name).is_none() {
                continue;
            }
            let kind = CommandKind::for_command(name, "").unwrap();
            for was_free in [false, true] {
                let [before, after] = left(line, was_free);
                let is_new = after.is_some() && text(&after) != text(&before);
                assert!(kind.takes() || !is_new, "{line}: {after:?}");
                assert!(kind.writes() || before == after, "{line}: {after:?}");
                match kind {
                    Prolongs => assert_eq!(text(&before), text(&after), "{line}"),
                    Removes | Flushes => assert_eq!(after, None, "{line}"),
                    _ => {}
                }
            }
        }
    }
}
