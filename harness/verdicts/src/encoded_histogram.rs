//! Histograms of latencies as text in records: HdrHistogram V2, deflate, base64, which HdrHistogram's own
//! tools read.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The longest latency, microseconds; a longer one counts as this long.
pub(crate) const MAX_US: u64 = 3_600_000_000;

/// Percentiles are exact to this many decimal digits.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The first bytes, before the compressed ones: a cookie, and how many follow.
const BEFORE: usize = 8;

/// The first of the compressed bytes: a cookie, the length of the counts, an offset, the digits, the least and
/// the largest value, and a ratio.
const HEAD: usize = 40;

/// The longest count in the format, bytes.
const MAX_COUNT_LENGTH: usize = 9;

/// Why a text is no histogram of ours.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is not base64.
    #[error("it is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is too short, or not compressed.
    #[error("it is no compressed HdrHistogram: {0}")]
    Compression(#[from] io::Error),
    /// Another program wrote it: these are its bounds, in words. What it asks for could take gigabytes.
    #[error("its values are {0}; expected {SIGNIFICANT_DIGITS} digits of 1 to {MAX_US}")]
    Bounds(String),
    /// What follows the head is damaged.
    #[error("{0}")]
    Counts(String),
}

/// An empty histogram of latencies in microseconds, with the bounds of all histograms in records.
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::<u64>::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants that the histogram accepts")
}

/// As text.
pub(crate) fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of these bounds fits its format, and a vector takes every write");
    STANDARD.encode(bytes)
}

/// The histogram of a text from a record. It takes no more memory than one of ours, whatever the text says.
///
/// # Errors
/// The text is damaged, or not from Picklock.
pub fn decode(text: &str) -> Result<Histogram<u64>, DecodeError> {
    let bytes = STANDARD.decode(text.trim())?;
    let mut head = [0; HEAD];
    ZlibDecoder::new(bytes.get(BEFORE..).unwrap_or_default()).read_exact(&mut head)?;
    let [length, digits] = [4, 12].map(|at| number(&head[at..at + 4]) as u32);
    let [low, high] = [16, 24].map(|at| number(&head[at..at + 8]));
    let most = empty_histogram().distinct_values() * MAX_COUNT_LENGTH;
    let is_ours = (digits, low, high) == (SIGNIFICANT_DIGITS.into(), 1, MAX_US);
    if !is_ours || usize::try_from(length).is_ok_and(|length| length > most) {
        let values = format!("{digits} digits of {low} to {high} in {length} bytes");
        return Err(DecodeError::Bounds(values));
    }
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| DecodeError::Counts(error.to_string()))
}

/// A number as the format has it: the most significant byte first.
fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter();
    bytes.fold(0, |all, byte| all << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut histogram = empty_histogram();
        for value_us in [0, 1, 5_000, MAX_US] {
            histogram.record_n(value_us, u64::from(u32::MAX)).unwrap();
        }
        assert_eq!(decode(&encode(&histogram)).unwrap(), histogram);
        assert_eq!(
            decode(&encode(&empty_histogram())).unwrap(),
            empty_histogram()
        );
    }

    /// A text with this head, and the bytes after it.
    fn text(length: u32, digits: u32, low: u64, high: u64) -> String {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        for number in [0x1c84_9313, length, 0, digits] {
            packed.write_all(&number.to_be_bytes()).unwrap();
        }
        for number in [low, high, 1.0_f64.to_bits()] {
            packed.write_all(&number.to_be_bytes()).unwrap();
        }
        let packed = packed.finish().unwrap();
        let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
        bytes.extend((packed.len() as u32).to_be_bytes());
        bytes.extend(packed);
        STANDARD.encode(bytes)
    }

    #[test]
    fn a_few_bytes_cannot_ask_for_gigabytes() {
        assert_eq!(decode(&text(0, 3, 1, MAX_US)).unwrap(), empty_histogram());
        for (length, digits, low, high) in [
            (u32::MAX, 3, 1, MAX_US),
            (0, 5, 1, MAX_US),
            (0, 3, 1, u64::MAX),
            (0, 3, 2, MAX_US),
        ] {
            let refused = decode(&text(length, digits, low, high));
            let is_bounds = matches!(refused, Err(DecodeError::Bounds { .. }));
            assert!(is_bounds, "{refused:?}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "nonsense!", "AAAA", "HISTEgAAAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
