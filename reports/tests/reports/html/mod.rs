//! The page for a browser: its contents, its size, and how a browser shows it.

mod browser;
mod histories;
mod runs;
mod searched;
mod values;
mod words;

/// Returns the page with the evidence of its cells unpacked, as in a browser in which all of them are
/// expanded.
pub fn expanded(page: &str) -> String {
    use std::io::Read;

    use base64::Engine;
    let mut parts = page.split("<script type=\"application/octet-stream\"");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (pack, rest) = part.split_once("</script>").unwrap();
        let (_, pack) = pack.split_once('>').unwrap();
        let bytes = base64::prelude::BASE64_STANDARD.decode(pack).unwrap();
        let mut json = String::new();
        let mut decoder = flate2::read::ZlibDecoder::new(&bytes[..]);
        decoder.read_to_string(&mut json).unwrap();
        let pack: serde_json::Value = serde_json::from_str(&json).unwrap();
        let cells = pack["html"].as_array().unwrap();
        text.extend(cells.iter().map(|html| html.as_str().unwrap()));
        // The script sets the data of a timeline as the text of an element, where it cannot be markup.
        text.push_str(&pack["tracks"].to_string().replace('<', "\\u003c"));
        text.push_str(rest);
    }
    text
}
