//! The generated part of a page, which lies between two markers.

/// Marker before the generated part.
pub const BEGIN: &str = "<!-- generated: begin -->";

/// Marker after the generated part.
pub const END: &str = "<!-- generated: end -->";

/// Returns `page` with the text between the markers replaced, or `None` if a marker is missing.
pub fn replaced_between(page: &str, generated: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{generated}\n{END}{after}"))
}

/// Returns the text between the markers, or `None` if a marker is missing.
pub fn between(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(BEGIN)?;
    Some(rest.split_once(END)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_around_the_markers_stays() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let once = replaced_between(&page, "new\n").unwrap();
        assert_eq!(once, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replaced_between(&once, "new\n").unwrap(), once);
        assert_eq!(replaced_between("no markers", "new"), None);
    }
}
