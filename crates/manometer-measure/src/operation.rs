//! Names of operations.

/// What the name of an operation begins with whose requests are no part of the workload's performance.
const BACKGROUND: &str = "background_";

/// Whether the requests of `operation` are asked beside the workload, as those of db_bench's background
/// writer are: measured, but no part of the workload's performance.
pub fn is_background(operation: &str) -> bool {
    operation.starts_with(BACKGROUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_operations_are_known_by_their_names() {
        assert!(is_background("background_update"));
        assert!(!is_background("update") && !is_background("read"));
    }
}
