//! The evidence of many cells, compressed. The page unpacks the cells that the reader opens.

use std::io::Write;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::cell_details::CellDetails;

/// Size of a pack in bytes before compression: small enough to unpack at once, large enough for cells to
/// share common text.
const PACK_BYTES: usize = 400_000;

/// Consecutive cells.
pub(super) struct Pack {
    /// The index of the first cell.
    pub(super) first: usize,
    /// A JSON list of the HTML of each cell, as a zlib stream in base64.
    pub(super) text: String,
}

#[derive(Template)]
#[template(path = "cell_details.html")]
struct CellPage {
    details: CellDetails,
}

/// Packs the cells in their order.
pub(super) fn packs(cells: impl Iterator<Item = CellDetails>) -> Result<Vec<Pack>, askama::Error> {
    let mut packs = Vec::new();
    let (mut first, mut open, mut bytes) = (0, Vec::new(), 0);
    for details in cells {
        let html = CellPage { details }.render()?;
        bytes += html.len();
        open.push(html);
        if bytes > PACK_BYTES {
            packs.push(pack(first, &open));
            first += open.len();
            open.clear();
            bytes = 0;
        }
    }
    if !open.is_empty() {
        packs.push(pack(first, &open));
    }
    Ok(packs)
}

fn pack(first: usize, cells: &[String]) -> Pack {
    let list = serde_json::to_vec(cells).expect("texts are always JSON");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let packed = encoder.write_all(&list).and_then(|()| encoder.finish());
    Pack {
        first,
        text: STANDARD.encode(packed.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn pack_unpacks_to_its_cells() {
        let cells = ["<p>one</p>".to_owned(), "zwei".to_owned()];
        let pack = pack(7, &cells);
        assert_eq!(pack.first, 7);
        let bytes = STANDARD.decode(pack.text).unwrap();
        let mut text = String::new();
        ZlibDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .unwrap();
        let unpacked: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(unpacked, cells);
    }
}
