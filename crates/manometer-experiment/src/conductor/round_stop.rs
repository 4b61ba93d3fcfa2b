//! Whether further rounds of an interleaved plan follow. The decision depends on the width of the widest interval alone,
//! never on significance, as that of a single phase.

/// What happens after the last planned round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundDecision {
    /// The run ends: every interval is narrow enough.
    Sufficient,
    /// So many rounds follow.
    Add(usize),
    /// The run ends: no further round is allowed.
    LimitReached,
}

/// Decides by the `width` of the widest interval and the requested `max_width`, with `left` more rounds allowed. Rounds are
/// added by `balanced` at a time: so many make the order balanced again.
pub(super) fn decide(width: Option<f64>, max_width: f64, left: usize, balanced: usize) -> RoundDecision {
    match left.min(balanced) {
        _ if width.is_some_and(|width| width <= max_width) => RoundDecision::Sufficient,
        0 => RoundDecision::LimitReached,
        further => RoundDecision::Add(further),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_follow_until_the_widest_interval_is_narrow_or_none_is_allowed() {
        let decide = |width, left| decide(width, 0.05, left, 4);
        assert_eq!(decide(Some(0.05), 10), RoundDecision::Sufficient);
        assert_eq!(decide(Some(0.051), 10), RoundDecision::Add(4));
        assert_eq!(decide(None, 3), RoundDecision::Add(3), "as many as are left");
        assert_eq!(decide(Some(0.2), 0), RoundDecision::LimitReached);
        assert_eq!(decide(Some(0.01), 0), RoundDecision::Sufficient);
    }
}
