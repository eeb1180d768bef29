//! Held by property tests: the scans agree with redis-protocol, whatever the pieces in which the
//! bytes come.

use picklock_scenarios::Direction;
use proptest::prelude::*;
use proptest::sample::Index;
use redis_protocol::{resp2, resp3};

use super::codec;
use super::command::{self, Expect, Keys};
use super::intake::{Intake, Mark, Next};
use super::scan::Shape;

/// A reply as it stands on the wire, with types of RESP3 when `resp3` is true.
fn reply(resp3: bool) -> impl Strategy<Value = Vec<u8>> {
    let text = "[ -~]{0,12}";
    let plain = prop_oneof![
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

/// What an intake finds when the bytes come in these pieces, and whether it gave up.
fn found(direction: Direction, bytes: &[u8], cuts: &[Index]) -> (Vec<Mark>, bool) {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut intake = Intake::new(direction);
    let (mut marks, mut consumed) = (Vec::new(), 0);
    for pair in places.windows(2) {
        let mut piece = &bytes[pair[0]..pair[1]];
        while !piece.is_empty() {
            let room = intake.room();
            let count = room.len().min(piece.len());
            room[..count].copy_from_slice(&piece[..count]);
            intake.filled(count);
            piece = &piece[count..];
        }
        loop {
            match intake.next_frame() {
                Next::Frame(mark) => marks.push(Mark {
                    range: mark.range.start + consumed..mark.range.end + consumed,
                    shape: mark.shape,
                }),
                Next::More => break,
                Next::Unparseable(_) => return (marks, true),
            }
        }
        consumed += intake.cursor();
        intake.consume();
    }
    (marks, false)
}

/// The length of the first frame, as redis-protocol sees it.
fn by_codec(bytes: &[u8], resp3: bool) -> Option<usize> {
    if resp3 {
        let decoded = resp3::decode::complete::decode_range(bytes);
        decoded.ok().flatten().map(|(_, len)| len)
    } else {
        let decoded = resp2::decode::decode_range(bytes);
        decoded.ok().flatten().map(|(_, len)| len)
    }
}

fn agree(replies: &[Vec<u8>], cuts: &[Index], resp3: bool) -> Result<(), TestCaseError> {
    let bytes = replies.concat();
    let (marks, gave_up) = found(Direction::Reply, &bytes, cuts);
    prop_assert!(!gave_up);
    prop_assert_eq!(marks.len(), replies.len());
    let mut position = 0;
    for (mark, reply) in marks.iter().zip(replies) {
        prop_assert_eq!(mark.range.start, position);
        prop_assert_eq!(mark.range.len(), reply.len());
        prop_assert_eq!(by_codec(&bytes[position..], resp3), Some(reply.len()));
        if let Shape::Composite { resp3 } = mark.shape {
            prop_assert!(codec::read(reply, resp3).is_ok());
        }
        position = mark.range.end;
    }
    Ok(())
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 0..8)
}

proptest! {
    #[test]
    fn replies_end_where_redis_protocol_says(
        resp2 in prop::collection::vec(reply(false), 1..6),
        resp3 in prop::collection::vec(reply(true), 1..6),
        cuts in cuts(),
    ) {
        agree(&resp2, &cuts, false)?;
        agree(&resp3, &cuts, true)?;
    }

    #[test]
    fn what_the_scan_takes_for_plain_is_plain_for_redis_protocol(
        bytes in "[-+:$0-9a\r\n]{0,24}".prop_map(String::into_bytes),
    ) {
        let (marks, _) = found(Direction::Reply, &bytes, &[]);
        for mark in marks {
            if matches!(mark.shape, Shape::Plain | Shape::Error) {
                prop_assert_eq!(by_codec(&bytes[mark.range.clone()], false), Some(mark.range.len()));
            }
        }
    }

    #[test]
    fn commands_are_found_whole_with_all_their_words(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..8), 1..6),
        cuts in cuts(),
    ) {
        let packed: Vec<_> = commands.iter().map(|words| {
            let words: Vec<_> = words.iter().map(|word| bulk(b'$', word)).collect();
            aggregate("*", &words)
        }).collect();
        let bytes = packed.concat();
        let (marks, gave_up) = found(Direction::Request, &bytes, &cuts);
        prop_assert!(!gave_up);
        prop_assert_eq!(marks.len(), commands.len());
        for ((mark, words), packed) in marks.iter().zip(&commands).zip(&packed) {
            let frame = &bytes[mark.range.clone()];
            prop_assert_eq!(frame, packed.as_slice());
            prop_assert_eq!(by_codec(frame, false), Some(frame.len()));
            let found: Vec<_> = command::arguments(frame, mark.shape)
                .map(|range| frame[range].to_vec()).collect();
            prop_assert_eq!(&found, words);
        }
    }

    #[test]
    fn the_pieces_make_no_difference_to_any_bytes(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[-+:$*>%|_0-3a\r\n]{0,80}".prop_map(String::into_bytes),
        ],
        cuts in cuts(),
    ) {
        for direction in [Direction::Request, Direction::Reply] {
            prop_assert_eq!(found(direction, &bytes, &cuts), found(direction, &bytes, &[]));
        }
    }
}

#[test]
fn deep_nesting_is_refused_before_the_codec_recurses() {
    let (marks, gave_up) = found(Direction::Reply, &b"*1\r\n".repeat(100_000), &[]);
    assert!(marks.is_empty() && gave_up);
}

#[test]
fn a_very_long_array_is_an_answer_without_the_codec_building_it() {
    let shape = |count: usize| {
        let reply = aggregate("*", &vec![b":1\r\n".to_vec(); count]);
        let (marks, gave_up) = found(Direction::Reply, &reply, &[]);
        assert!(!gave_up);
        assert_eq!(marks[0].range, 0..reply.len());
        marks[0].shape
    };
    assert_eq!(shape(3), Shape::Composite { resp3: false });
    assert_eq!(shape(100_000), Shape::Plain);
}

#[test]
fn a_frame_beyond_the_limit_is_refused_by_its_header() {
    let (_, gave_up) = found(Direction::Reply, b"$67108865\r\n", &[]);
    assert!(gave_up);
    let (_, gave_up) = found(Direction::Request, b"*2\r\n$3\r\nSET\r\n$67108864\r\n", &[]);
    assert!(gave_up, "the frame is longer than its last argument");
}

#[test]
fn the_longest_key_is_the_one_that_is_named() {
    let keys = Keys::new(&["a:1".to_owned(), "a:12".to_owned(), String::new()]);
    let key = |words: &[&str]| {
        let words: Vec<_> = words
            .iter()
            .map(|word| bulk(b'$', word.as_bytes()))
            .collect();
        command::read(&aggregate("*", &words), Shape::Command, &keys).key
    };
    assert_eq!(key(&["GET", "a:1"]), Some(0));
    assert_eq!(key(&["GET", "x{a:12}"]), Some(1));
    assert_eq!(key(&["GET", "a:", "1"]), None);
    // Lengths between the arguments are not part of them.
    let lengths = Keys::new(&["$3".to_owned()]);
    let get = b"*2\r\n$3\r\nGET\r\n$1\r\nx\r\n";
    assert_eq!(command::read(get, Shape::Command, &lengths).key, None);
}

#[test]
fn expectations_follow_the_command() {
    let keys = Keys::new(&[]);
    let expect = |line: &str| command::read(line.as_bytes(), Shape::Inline, &keys).expect;
    let confirmations = |subscribed, count| Expect::Confirmations { subscribed, count };
    assert_eq!(expect("subscribe a b\r\n"), confirmations(true, 2));
    assert_eq!(expect("PUNSUBSCRIBE\n"), confirmations(false, 0));
    assert_eq!(expect("client reply skip\r\n"), Expect::SkipNext);
    assert_eq!(expect("client id\r\n"), Expect::Answer);
    assert_eq!(expect("PSYNC ? -1\r\n"), Expect::Unpredictable);
}
