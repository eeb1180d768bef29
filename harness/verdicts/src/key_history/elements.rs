//! Values that are collections of several clients' elements: queues of waiting clients, hold counts, permits.

/// Returns `true` if both values are collections with a common element. Such a collection belongs to several clients
/// (waiters or readers), and it is unknown whose element went away.
pub fn shares_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(now)) = (elements(before), elements(now)) else {
        return false;
    };
    let now: Vec<&str> = now.collect();
    before.into_iter().any(|element| now.contains(&element))
}

/// Returns `true` if the later collection has an element that the earlier one does not have.
pub fn adds_element(before: &str, now: &str) -> bool {
    let (Some(before), Some(mut now)) = (elements(before), elements(now)) else {
        return false;
    };
    let before: Vec<&str> = before.collect();
    now.any(|element| !before.contains(&element))
}

/// Returns `true` if the value is a collection.
pub fn is_collection(value: &str) -> bool {
    elements(value).is_some()
}

/// Returns `true` for a collection of more than one element. It may belong to several clients, each of which may
/// prolong it.
pub fn is_of_several(value: &str) -> bool {
    elements(value).is_some_and(|elements| elements.count() > 1)
}

/// Returns `true` if the later collection is the earlier one without some of its elements. The rest belongs to the
/// clients whose elements remain, and not to the client that removed its own element.
pub fn is_rest(before: &str, now: &str) -> bool {
    if now.len() >= before.len() {
        return false;
    }
    let (Some(before), Some(mut now)) = (elements(before), elements(now)) else {
        return false;
    };
    let before: Vec<&str> = before.collect();
    let mut count = 0;
    let all_known = now.all(|element| {
        count += 1;
        before.contains(&element)
    });
    all_known && count < before.len()
}

/// Returns the texts that identify the owners of a collection's elements, or `None` if the value is a string (possibly
/// JSON).
///
/// For most collections these are the elements' names: tokens with hold counts or scores. A hash with fields of a fixed
/// name, such as `{count: 2, owner: a}`, has the owner in a field's value; its numbers do not identify an owner.
pub(super) fn elements(value: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    if inside.starts_with('"') {
        return None;
    }
    let is_number = |value: &str| value.parse::<f64>().is_ok();
    let is_owner = move |element: &&str| {
        let field = element.split_once(": ");
        field.is_some_and(|(_, value)| !is_number(value))
    };
    let is_record = inside.split(", ").any(|element| is_owner(&element));
    let kept = inside
        .split(", ")
        .filter(move |element| !is_record || is_owner(element));
    Some(kept.map(move |element| match element.split_once(": ") {
        Some((name, _)) if !is_record => name,
        _ => element,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_with_fixed_fields_belongs_to_the_owner_in_its_values() {
        // A waiting client has increased the counter.
        assert!(shares_element("{lock: 1, pid: a1}", "{lock: 2, pid: a1}"));
        assert!(!shares_element("{lock: 2, pid: a1}", "{lock: 1, pid: b2}"));
        assert!(adds_element("{lock: 2, pid: a1}", "{lock: 1, pid: b2}"));
        assert!(!is_of_several("{lock: 2, pid: a1}"));
    }

    #[test]
    fn rest_of_a_collection_has_fewer_owners() {
        assert!(is_rest("{a1: 17.5, b2: 18.25}", "{b2: 18.25}"));
        assert!(is_rest("{a1, b2, c3}", "{b2, c3}"));
        assert!(!is_rest("{a1: 10}", "{a1: 9}"));
        assert!(!is_rest("{a1: 1, b2: 2}", "{c3: 1}"));
        assert!(!is_rest("{lock: 10, pid: a1}", "{lock: 9, pid: a1}"));
    }

    #[test]
    fn hold_counts_and_scores_belong_to_the_names() {
        assert!(shares_element("{a1: 1}", "{a1: 2, b2: 1}"));
        assert!(adds_element("{a1: 1}", "{a1: 1, b2: 1}"));
        assert!(is_of_several("{a1: 1, b2: 1}"));
        assert!(!shares_element("{a1: 17.5}", "{b2: 18.25}"));
        assert!(shares_element("{a1, b2}", "{b2, c3}"));
    }
}
