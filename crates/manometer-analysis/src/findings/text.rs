//! Phases in findings.

/// The only phase in `ids`; `None` where there are none or several.
pub(super) fn only_phase<'a>(ids: &[&'a str]) -> Option<&'a str> {
    match ids {
        [id] => Some(id),
        _ => None,
    }
}
