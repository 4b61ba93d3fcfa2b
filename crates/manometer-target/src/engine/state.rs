//! The columns of engine states.

/// A column of an engine's state: name, unit and meaning; `<N>` in the name stands for a number.
pub type StateColumn = (&'static str, &'static str, &'static str);

/// The placeholder for a number in the name of a column.
pub(super) const NUMBER: &str = "<N>";

/// The meaning of the state column `name`.
pub(super) fn meaning(state: &[StateColumn], name: &str) -> Option<&'static str> {
    let pattern = pattern(name);
    let column = state.iter().find(|(other, ..)| *other == name || *other == pattern)?;
    Some(column.2)
}

/// `name` with `<N>` for each number in it.
fn pattern(name: &str) -> String {
    let runs = name.as_bytes().chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
    runs.map(|run| if run[0].is_ascii_digit() { NUMBER.into() } else { String::from_utf8_lossy(run) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_a_name_matches_its_pattern() {
        let state = [("level<N>_files", "files", "Tables in level N."), ("level0_tables", "files", "Tables.")];
        let of = |name| meaning(&state, name);
        assert_eq!(of("level3_files"), Some("Tables in level N."));
        assert_eq!(of("level12_files"), Some("Tables in level N."));
        assert_eq!(of("level0_tables"), Some("Tables."));
        assert_eq!((of("levelx_files"), of("level3_tables"), of("entries")), (None, None, None));
    }
}
