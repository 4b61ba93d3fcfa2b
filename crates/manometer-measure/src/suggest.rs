//! "Did you mean …?": the known name that a misspelt one resembles most.

/// The Jaro-Winkler similarity, from 0 to 1, from which one name passes for a misspelling of another.
const SIMILARITY_MIN: f64 = 0.75;

/// The name in `known` most similar to `name`, if any is similar enough to be meant.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    let candidates = scored.filter(|(similarity, _)| *similarity >= SIMILARITY_MIN);
    candidates.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, candidate)| candidate)
}

/// The end of an error message that names `similar`; empty without one.
pub fn did_you_mean(similar: Option<&str>) -> String {
    similar.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// What to write in place of the unknown `name`: the most similar of the `known` names, or one of all.
pub fn correction<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match similar(name, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("write one of `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["file_size", "block_size", "iodepth", "rate"];

    #[test]
    fn a_misspelt_name_is_corrected() {
        for (misspelt, name) in [("file_sise", "file_size"), ("iodept", "iodepth"), ("blocksize", "block_size")] {
            assert_eq!(similar(misspelt, KNOWN), Some(name));
            assert_eq!(correction(misspelt, KNOWN), format!("did you mean `{name}`?"));
        }
        assert_eq!(did_you_mean(similar("rat", KNOWN)), "; did you mean `rate`?");
    }

    #[test]
    fn an_unrelated_name_is_answered_with_all_names() {
        assert_eq!(similar("personality", KNOWN), None);
        assert_eq!(correction("xyz", KNOWN), "write one of `file_size`, `block_size`, `iodepth`, `rate`");
        assert_eq!((correction("xyz", []).as_str(), did_you_mean(None).as_str()), ("there is none", ""));
    }
}
