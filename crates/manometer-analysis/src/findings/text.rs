//! Durations and phases in findings.

/// A duration, rounded up: `40 s`, `4 min`, `2 h`.
pub(super) fn at_least(seconds: f64) -> String {
    match seconds {
        _ if seconds <= 60.0 => format!("{:.0} s", seconds.ceil()),
        _ if seconds <= 7_200.0 => format!("{:.0} min", (seconds / 60.0).ceil()),
        _ => format!("{:.0} h", (seconds / 3_600.0).ceil()),
    }
}

/// The only phase in `ids`; `None` where there are none or several.
pub(super) fn only_phase<'a>(ids: &[&'a str]) -> Option<&'a str> {
    match ids {
        [id] => Some(id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!([12.2, 60.0, 61.0, 230.0, 7_201.0].map(at_least), ["13 s", "60 s", "2 min", "4 min", "3 h"]);
    }
}
