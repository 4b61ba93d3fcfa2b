//! Phases in findings.

/// The most phases that are named.
const MAX_NAMED: usize = 6;

/// `w0, w1, w3`; of many phases the first, and how many more.
pub(super) fn phase_list(ids: &[&str]) -> String {
    if ids.len() <= MAX_NAMED {
        return ids.join(", ");
    }
    format!("{} and {} more", ids[..MAX_NAMED - 1].join(", "), ids.len() + 1 - MAX_NAMED)
}

/// `was` or `were`.
pub(super) fn was_or_were(ids: &[&str]) -> &'static str {
    if ids.len() == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_phases_are_counted() {
        assert_eq!(phase_list(&["w0", "w1", "w3"]), "w0, w1, w3");
        assert_eq!(phase_list(&["w0", "w1", "w2", "w3", "w4", "w5"]), "w0, w1, w2, w3, w4, w5");
        assert_eq!(phase_list(&["w0", "w1", "w2", "w3", "w4", "w5", "w6"]), "w0, w1, w2, w3, w4 and 2 more");
    }
}
