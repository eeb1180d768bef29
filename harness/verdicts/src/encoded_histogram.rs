//! Latency histograms as text in records: HdrHistogram V2, deflate, base64, which HdrHistogram's own tools can read.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// Maximum latency in microseconds. Longer latencies are recorded with this value.
pub(crate) const MAX_US: u64 = 3_600_000_000;

/// Number of decimal digits to which percentiles are exact.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Length of the uncompressed header: a cookie, and the number of compressed bytes.
const HEADER_LENGTH: usize = 8;

/// Length of the compressed header: a cookie, the length of the counts, an offset, the number of digits, the smallest
/// and the largest value, and a ratio.
const COMPRESSED_HEADER_LENGTH: usize = 40;

/// Maximum length of a count in bytes.
const MAX_COUNT_LENGTH: usize = 9;

/// Why a text is not a histogram written by Picklock.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The data is too short, or not compressed.
    #[error("not a compressed HdrHistogram: {0}")]
    Compression(#[from] io::Error),
    /// Another program wrote the histogram, with these bounds. Reading it could take gigabytes of memory.
    #[error("the histogram has {0}; expected {SIGNIFICANT_DIGITS} digits of 1 to {MAX_US}")]
    Bounds(String),
    /// The data after the header is damaged.
    #[error("damaged counts in the histogram: {0}")]
    Counts(String),
}

/// Returns an empty histogram of latencies in microseconds, with the bounds of all histograms in records.
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::<u64>::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants that the histogram accepts")
}

/// Encodes a histogram as text.
pub(crate) fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of these bounds fits its format, and a vector takes every write");
    STANDARD.encode(bytes)
}

/// Decodes a histogram from a record. The memory that it uses is bounded, even for an untrusted text.
///
/// # Errors
/// Returns an error if the text is damaged, or if another program wrote the histogram.
pub fn decode(text: &str) -> Result<Histogram<u64>, DecodeError> {
    let bytes = STANDARD.decode(text.trim())?;
    let mut header = [0; COMPRESSED_HEADER_LENGTH];
    ZlibDecoder::new(bytes.get(HEADER_LENGTH..).unwrap_or_default()).read_exact(&mut header)?;
    let [length, digits] = [4, 12].map(|at| number(&header[at..at + 4]) as u32);
    let [low, high] = [16, 24].map(|at| number(&header[at..at + 8]));
    let max_length = empty_histogram().distinct_values() * MAX_COUNT_LENGTH;
    let is_ours = (digits, low, high) == (SIGNIFICANT_DIGITS.into(), 1, MAX_US);
    if !is_ours || usize::try_from(length).is_ok_and(|length| length > max_length) {
        let values = format!("{digits} digits of {low} to {high} in {length} bytes");
        return Err(DecodeError::Bounds(values));
    }
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| DecodeError::Counts(error.to_string()))
}

/// Parses a big-endian number.
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
    fn encoded_histogram_decodes_to_itself() {
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

    /// Returns an encoded histogram with this header and no counts.
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
    fn short_text_cannot_allocate_gigabytes() {
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
    fn invalid_text_is_rejected() {
        for text in ["", "nonsense!", "AAAA", "HISTEgAAAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
