//! Names of operations.

/// The prefix of operations that do not count for the performance of the workload.
const BACKGROUND: &str = "background_";

/// Whether `operation` runs in the background, like db_bench's background writer: it is measured but does not count for the
/// performance of the workload.
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
