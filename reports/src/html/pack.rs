//! The evidence of many cells, compressed. The page unpacks the cells that the reader opens.

use std::collections::BTreeMap;
use std::io::Write;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::Value;

use super::cell_details::CellDetails;

/// Size of a pack in bytes before compression: small enough to unpack at once, large enough for cells to
/// share common text.
const PACK_BYTES: usize = 800_000;

/// Consecutive cells.
pub(super) struct Pack {
    /// The index of the first cell.
    pub(super) first: usize,
    /// The [`Content`] as JSON, as a zlib stream in base64.
    pub(super) text: String,
}

/// The contents of a pack. Compression finds repetitions only within 32 kB, so what resembles each other in different
/// cells is next to each other: first the HTML of all cells, then one field of all timelines after the other.
#[derive(Default, Serialize)]
struct Content {
    html: Vec<String>,
    /// For each field of the timelines, its value in each cell. A cell without a timeline has `null` or, at the end, no
    /// value.
    tracks: BTreeMap<String, Vec<Value>>,
}

impl Content {
    fn push(&mut self, html: String, track: Value) {
        let before = self.html.len();
        self.html.push(html);
        if let Value::Object(fields) = track {
            for (field, value) in fields {
                let column = self.tracks.entry(field).or_default();
                column.resize(before, Value::Null);
                column.push(value);
            }
        }
    }
}

#[derive(Template)]
#[template(path = "cell_details.html")]
struct CellPage {
    details: CellDetails,
}

/// Packs the cells in their order.
pub(super) fn packs(cells: impl Iterator<Item = CellDetails>) -> Result<Vec<Pack>, askama::Error> {
    let mut packs = Vec::new();
    let (mut first, mut open, mut bytes) = (0, Content::default(), 0);
    for details in cells {
        let track = details.track.as_ref().map(serde_json::to_value);
        let track = track.and_then(Result::ok).unwrap_or_default();
        let html = CellPage { details }.render()?;
        bytes += html.len() + track.to_string().len();
        open.push(html, track);
        if bytes > PACK_BYTES {
            packs.push(pack(first, &open));
            first += open.html.len();
            (open, bytes) = (Content::default(), 0);
        }
    }
    if !open.html.is_empty() {
        packs.push(pack(first, &open));
    }
    Ok(packs)
}

fn pack(first: usize, content: &Content) -> Pack {
    let json = serde_json::to_vec(content).expect("texts and numbers are always JSON");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let packed = encoder.write_all(&json).and_then(|()| encoder.finish());
    Pack {
        first,
        text: STANDARD.encode(packed.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;
    use serde_json::json;

    use super::*;

    #[test]
    fn pack_unpacks_to_its_cells() {
        let mut content = Content::default();
        content.push("<p>one</p>".to_owned(), Value::Null);
        content.push("zwei".to_owned(), json!({ "end_ns": 7, "lanes": [1, 2] }));
        content.push("three".to_owned(), Value::Null);
        content.push("vier".to_owned(), json!({ "end_ns": 8, "lanes": [] }));
        let pack = pack(7, &content);
        assert_eq!(pack.first, 7);
        let bytes = STANDARD.decode(pack.text).unwrap();
        let mut text = String::new();
        ZlibDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .unwrap();
        let unpacked: Value = serde_json::from_str(&text).unwrap();
        let wanted = json!({
            "html": ["<p>one</p>", "zwei", "three", "vier"],
            "tracks": { "end_ns": [null, 7, null, 8], "lanes": [null, [1, 2], null, []] },
        });
        assert_eq!(unpacked, wanted);
    }
}
