//! How often each operation occurs.

use super::settings::PathsSettings;
use crate::file_threads::FileOperation;
use crate::setting_error::SettingError;

/// The operations, in the order of [`OperationMix::shares`].
pub(super) const OPERATIONS: [FileOperation; 4] =
    [FileOperation::Stat, FileOperation::Open, FileOperation::Read, FileOperation::List];

/// The share of each operation, 1 in all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OperationMix {
    shares: [f64; OPERATIONS.len()],
}

impl OperationMix {
    /// The mix of `settings`.
    ///
    /// # Errors
    /// A proportion is no proportion, or all are 0.
    pub(super) fn new(settings: &PathsSettings) -> Result<Self, SettingError> {
        let named = [
            ("stat_proportion", settings.stat_proportion),
            ("open_proportion", settings.open_proportion),
            ("read_proportion", settings.read_proportion),
            ("list_proportion", settings.list_proportion),
        ];
        // A larger one could make the sum infinite.
        if let Some((name, wrong)) = named.into_iter().find(|(_, share)| !(0.0..=1e9).contains(share)) {
            return Err(SettingError::new(name, wrong, "write a number from 0 to 1"));
        }
        let sum: f64 = named.iter().map(|(_, share)| share).sum();
        if sum == 0.0 {
            return Err(SettingError::new("stat_proportion", 0, "write at least one proportion above 0"));
        }
        Ok(Self { shares: named.map(|(_, share)| share / sum) })
    }

    /// The operation at `place`, from 0 to below 1.
    pub(super) fn at(&self, place: f64) -> FileOperation {
        let mut left = place;
        for (operation, share) in OPERATIONS.into_iter().zip(self.shares) {
            if left < share {
                return operation;
            }
            left -= share;
        }
        // Rounding may leave a rest.
        self.occurring().last().map_or(FileOperation::Stat, |(operation, _)| operation)
    }

    /// The names of the operations that occur, the most frequent first.
    pub(super) fn operations(&self) -> Vec<&'static str> {
        let mut occurring: Vec<_> = self.occurring().collect();
        occurring.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        occurring.into_iter().map(|(operation, _)| operation.name()).collect()
    }

    fn occurring(&self) -> impl Iterator<Item = (FileOperation, f64)> {
        OPERATIONS.into_iter().zip(self.shares).filter(|(_, share)| *share > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(shares: [f64; 4]) -> PathsSettings {
        let [stat_proportion, open_proportion, read_proportion, list_proportion] = shares;
        PathsSettings { stat_proportion, open_proportion, read_proportion, list_proportion, ..PathsSettings::default() }
    }

    #[test]
    fn proportions_are_divided_by_their_sum() {
        let mix = OperationMix::new(&settings([2.0, 0.0, 1.0, 1.0])).unwrap();
        let of = |operation| (0..1000).filter(|place| mix.at(f64::from(*place) / 1000.0) == operation).count();
        assert_eq!(OPERATIONS.map(of), [500, 0, 250, 250]);
        assert_eq!(mix.operations(), ["stat", "read", "list"]);
        assert_eq!(mix.at(1.0), FileOperation::List);
        assert_eq!(OperationMix::new(&settings([0.0, 0.0, 3.0, 0.0])).unwrap().at(1.0), FileOperation::Read);
    }

    #[test]
    fn what_is_no_proportion_is_refused() {
        for wrong in [-0.1, f64::NAN, f64::INFINITY] {
            let error = OperationMix::new(&settings([0.5, wrong, 0.0, 0.0])).unwrap_err();
            assert_eq!(error.name, "open_proportion", "{error}");
        }
        let error = OperationMix::new(&settings([0.0; 4])).unwrap_err();
        assert!(error.wanted.contains("above 0"), "{error}");
    }
}
