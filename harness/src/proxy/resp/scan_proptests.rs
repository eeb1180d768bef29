//! Property tests: the scans agree with redis-protocol, however the bytes are split.

use picklock_scenarios::{Direction, Phase};
use proptest::prelude::*;
use proptest::sample::Index;
use redis_protocol::resp2::types::OwnedFrame as Resp2;
use redis_protocol::resp3::types::OwnedFrame as Resp3;
use redis_protocol::{resp2, resp3};

use crate::proxy::operation::Operation;
use crate::proxy::resp::command::{self, Expect, Keys};
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_reader::{Extent, FrameReader};
use crate::proxy::resp::reply_kind::ReplyKind;
use crate::proxy::resp::scan::Shape;

/// Generates a reply in RESP, with types of RESP3 if `resp3` is true.
fn reply(resp3: bool) -> impl Strategy<Value = Vec<u8>> {
    let text = "[ -~]{0,12}";
    let pubsub = "[ps]?(un)?subscribe|[ps]?message";
    let plain = prop_oneof![
        pubsub.prop_map(|word| bulk(b'$', word.as_bytes())),
        text.prop_map(|text| format!("+{text}\r\n").into_bytes()),
        text.prop_map(|text| format!("-ERR {text}\r\n").into_bytes()),
        any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|data| bulk(b'$', &data)),
    ];
    let only_resp2 = prop_oneof![Just(b"$-1\r\n".to_vec()), Just(b"*-1\r\n".to_vec())];
    let only_resp3 = prop_oneof![
        Just(b"_\r\n".to_vec()),
        Just(b"#t\r\n".to_vec()),
        Just(b",-inf\r\n".to_vec()),
        any::<i32>().prop_map(|number| format!(",{number}.5\r\n").into_bytes()),
        Just(b"(3492890328409238509324850943850943825024385\r\n".to_vec()),
        Just(bulk(b'=', b"txt:some")),
        Just(bulk(b'!', b"ERR some")),
        any::<u8>().prop_map(|n| format!("|1\r\n+k\r\n$1\r\nv\r\n:{n}\r\n").into_bytes()),
    ];
    let special = if resp3 {
        only_resp3.boxed()
    } else {
        only_resp2.boxed()
    };
    prop_oneof![4 => plain, 1 => special].prop_recursive(4, 24, 5, move |element| {
        let many = || prop::collection::vec(element.clone(), 0..5);
        let array = many().prop_map(|elements| aggregate("*", &elements));
        if !resp3 {
            return array.boxed();
        }
        let map = many().prop_map(|values| {
            let count = values.len();
            let pair = |(key, value): (usize, Vec<u8>)| {
                [format!("+{key}\r\n").into_bytes(), value].concat()
            };
            let pairs: Vec<_> = values.into_iter().enumerate().map(pair).collect();
            [format!("%{count}\r\n").into_bytes(), pairs.concat()].concat()
        });
        prop_oneof![
            array,
            map,
            many().prop_map(|elements| aggregate(">", &elements))
        ]
        .boxed()
    })
}

fn bulk(kind: u8, data: &[u8]) -> Vec<u8> {
    let header = format!("{}{}\r\n", char::from(kind), data.len());
    [header.as_bytes(), data, b"\r\n"].concat()
}

fn aggregate(kind: &str, elements: &[Vec<u8>]) -> Vec<u8> {
    let header = format!("{kind}{}\r\n", elements.len());
    [header.into_bytes(), elements.concat()].concat()
}

/// Returns the frames that are found if the bytes arrive in these pieces, and whether an error was found.
fn scan(direction: Direction, bytes: &[u8], cuts: &[Index]) -> (Vec<Extent>, bool) {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut reader = FrameReader::new(direction, FrameShare::default());
    let (mut extents, mut consumed) = (Vec::new(), 0);
    for pair in places.windows(2) {
        let mut piece = &bytes[pair[0]..pair[1]];
        while !piece.is_empty() {
            let room = reader.room();
            let count = room.len().min(piece.len());
            room[..count].copy_from_slice(&piece[..count]);
            reader.filled(count);
            piece = &piece[count..];
        }
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => extents.push(Extent {
                    range: frame.range.start + consumed..frame.range.end + consumed,
                    shape: frame.shape,
                }),
                Ok(None) => break,
                Err(_) => return (extents, true),
            }
        }
        consumed += reader.cursor();
        reader.consume();
    }
    (extents, false)
}

const IDLE: Operation = Operation {
    op: 0,
    phase: Phase::Idle,
};

/// Returns the length of the first frame according to redis-protocol.
fn by_library(bytes: &[u8], resp3: bool) -> Option<usize> {
    if resp3 {
        let decoded = resp3::decode::complete::decode_range(bytes);
        decoded.ok().flatten().map(|(_, len)| len)
    } else {
        let decoded = resp2::decode::decode_range(bytes);
        decoded.ok().flatten().map(|(_, len)| len)
    }
}

/// Returns the kind of a reply according to redis-protocol's tree of the frame.
fn kind_by_library(frame: &[u8], resp3: bool) -> ReplyKind {
    let (push, len, word, count) = if resp3 {
        match resp3::decode::complete::decode(frame).unwrap().unwrap().0 {
            Resp3::Push { data, .. } => (true, data.len(), resp3_word(&data), resp3_third(&data)),
            Resp3::Array { data, .. } => (false, data.len(), resp3_word(&data), resp3_third(&data)),
            Resp3::BlobError { .. } | Resp3::SimpleError { .. } => return ReplyKind::Error,
            _ => return ReplyKind::Answer,
        }
    } else {
        match resp2::decode::decode(frame).unwrap().unwrap().0 {
            Resp2::Array(data) => (false, data.len(), resp2_word(&data), resp2_third(&data)),
            Resp2::Error(_) => return ReplyKind::Error,
            _ => return ReplyKind::Answer,
        }
    };
    let count = count.filter(|_| len == 3);
    match (word.strip_suffix(b"subscribe"), count) {
        (Some(b"" | b"p" | b"s"), Some(count)) => confirmation(true, count, push),
        (Some(b"un" | b"pun" | b"sun"), Some(count)) => confirmation(false, count, push),
        _ if push => ReplyKind::Push,
        _ if matches!(&word[..], b"message" | b"pmessage" | b"smessage") && count.is_none() => {
            ReplyKind::Message
        }
        _ => ReplyKind::Answer,
    }
}

fn resp3_word(elements: &[Resp3]) -> Vec<u8> {
    match elements.first() {
        Some(Resp3::BlobString { data, .. } | Resp3::SimpleString { data, .. }) => data.clone(),
        _ => Vec::new(),
    }
}

fn resp3_third(elements: &[Resp3]) -> Option<i64> {
    match elements.get(2)? {
        Resp3::Number { data, .. } => Some(*data),
        _ => None,
    }
}

fn resp2_word(elements: &[Resp2]) -> Vec<u8> {
    match elements.first() {
        Some(Resp2::BulkString(word) | Resp2::SimpleString(word)) => word.clone(),
        _ => Vec::new(),
    }
}

fn resp2_third(elements: &[Resp2]) -> Option<i64> {
    match elements.get(2)? {
        Resp2::Integer(count) => Some(*count),
        _ => None,
    }
}

fn confirmation(subscribed: bool, count: i64, push: bool) -> ReplyKind {
    ReplyKind::Confirmation {
        subscribed,
        count,
        push,
    }
}

fn agree(replies: &[Vec<u8>], cuts: &[Index], resp3: bool) -> Result<(), TestCaseError> {
    let bytes = replies.concat();
    let (frames, gave_up) = scan(Direction::Reply, &bytes, cuts);
    prop_assert!(!gave_up);
    prop_assert_eq!(frames.len(), replies.len());
    let mut position = 0;
    for (frame, reply) in frames.iter().zip(replies) {
        prop_assert_eq!(frame.range.start, position);
        prop_assert_eq!(frame.range.len(), reply.len());
        prop_assert_eq!(by_library(&bytes[position..], resp3), Some(reply.len()));
        let kind = match frame.shape {
            Shape::Plain => ReplyKind::Answer,
            Shape::Error => ReplyKind::Error,
            _ => ReplyKind::parse(reply),
        };
        prop_assert_eq!(kind, kind_by_library(reply, resp3));
        position = frame.range.end;
    }
    Ok(())
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..8)
}

proptest! {
    #[test]
    fn reply_ends_agree_with_redis_protocol(
        resp2 in prop::collection::vec(reply(false), 1..6),
        resp3 in prop::collection::vec(reply(true), 1..6),
        cuts in cuts(),
    ) {
        agree(&resp2, &cuts, false)?;
        agree(&resp3, &cuts, true)?;
    }

    #[test]
    fn accepted_frames_are_valid_for_redis_protocol(
        bytes in prop::collection::vec("[-+:$*>_#,(][-0-9atf]{0,2}\r\n", 0..8)
            .prop_map(|lines| lines.concat().into_bytes()),
    ) {
        let (frames, _) = scan(Direction::Reply, &bytes, &[]);
        for frame in frames {
            let (len, frame) = (frame.range.len(), &bytes[frame.range]);
            let accepted = by_library(frame, true).or_else(|| by_library(frame, false));
            prop_assert_eq!(accepted, Some(len), "{:?}", frame.escape_ascii().to_string());
        }
    }

    #[test]
    fn commands_are_found_with_all_their_words(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..8), 1..6),
        cuts in cuts(),
    ) {
        let packed: Vec<_> = commands.iter().map(|words| {
            let words: Vec<_> = words.iter().map(|word| bulk(b'$', word)).collect();
            aggregate("*", &words)
        }).collect();
        let bytes = packed.concat();
        let (frames, gave_up) = scan(Direction::Request, &bytes, &cuts);
        prop_assert!(!gave_up);
        prop_assert_eq!(frames.len(), commands.len());
        for ((extent, words), packed) in frames.iter().zip(&commands).zip(&packed) {
            let frame = &bytes[extent.range.clone()];
            prop_assert_eq!(frame, packed.as_slice());
            prop_assert_eq!(by_library(frame, false), Some(frame.len()));
            let found: Vec<_> = command::arguments(frame, extent.shape)
                .map(|range| frame[range].to_vec()).collect();
            prop_assert_eq!(&found, words);
        }
    }

    #[test]
    fn frames_do_not_depend_on_the_pieces(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[-+:$*>%|_0-3a\r\n]{0,80}".prop_map(String::into_bytes),
        ],
        cuts in cuts(),
    ) {
        for direction in [Direction::Request, Direction::Reply] {
            prop_assert_eq!(scan(direction, &bytes, &cuts), scan(direction, &bytes, &[]));
        }
    }
}

#[test]
fn deep_nesting_is_rejected() {
    let (frames, gave_up) = scan(Direction::Reply, &b"*1\r\n".repeat(100_000), &[]);
    assert!(frames.is_empty() && gave_up);
}

#[test]
fn value_invalid_for_its_type_is_rejected() {
    for line in [
        ":x",
        ":",
        ":12345678901234567890",
        ",x",
        "#y",
        "_0",
        "(",
        "(1x",
    ] {
        for reply in [format!("{line}\r\n"), format!("*2\r\n+a\r\n{line}\r\n")] {
            let (frames, gave_up) = scan(Direction::Reply, reply.as_bytes(), &[]);
            assert!(frames.is_empty() && gave_up, "{reply:?}");
        }
    }
}

#[test]
fn minus_zero_is_not_a_length() {
    for bytes in [">-0\r\n", "*-0\r\n", "$-0\r\n\r\n"] {
        let (frames, gave_up) = scan(Direction::Reply, bytes.as_bytes(), &[]);
        assert!(frames.is_empty() && gave_up, "{bytes:?}");
    }
}

#[test]
fn frame_beyond_the_limit_is_rejected_by_its_header() {
    let (_, gave_up) = scan(Direction::Reply, b"$67108865\r\n", &[]);
    assert!(gave_up);
    let (_, gave_up) = scan(Direction::Request, b"*2\r\n$3\r\nSET\r\n$67108864\r\n", &[]);
    assert!(gave_up, "the frame is longer than its last argument");
}

#[test]
fn longest_matching_key_is_named() {
    let keys = Keys::new(&["a:1".to_owned(), "a:12".to_owned(), String::new()]);
    let key = |words: &[&str]| {
        let words: Vec<_> = words
            .iter()
            .map(|word| bulk(b'$', word.as_bytes()))
            .collect();
        command::read(&aggregate("*", &words), Shape::Command, &keys, IDLE).key
    };
    assert_eq!(key(&["GET", "a:1"]), Some(0));
    assert_eq!(key(&["GET", "x{a:12}"]), Some(1));
    assert_eq!(key(&["GET", "a:", "1"]), None);
    // The length lines between the arguments are not part of them.
    let lengths = Keys::new(&["$3".to_owned()]);
    let get = b"*2\r\n$3\r\nGET\r\n$1\r\nx\r\n";
    assert_eq!(command::read(get, Shape::Command, &lengths, IDLE).key, None);
}

#[test]
fn expectations_follow_the_command() {
    let keys = Keys::new(&[]);
    let expect = |line: &str| command::read(line.as_bytes(), Shape::Inline, &keys, IDLE).expect;
    let confirmations = |subscribed, count| Expect::Confirmations { subscribed, count };
    assert_eq!(expect("subscribe a b\r\n"), confirmations(true, 2));
    assert_eq!(expect("PUNSUBSCRIBE\n"), confirmations(false, 0));
    assert_eq!(expect("client reply skip\r\n"), Expect::SkipNext);
    assert_eq!(expect("client id\r\n"), Expect::Answer);
    assert_eq!(expect("PSYNC ? -1\r\n"), Expect::Unpredictable);
}
