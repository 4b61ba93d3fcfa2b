//! A `paths` workload, checked and complete.

use manometer_measure::Rate;
use manometer_target::engine::directory::DatabaseManifest;
use manometer_trace::synthesis::paths::PathModel;
use serde_json::Value;

use super::mix::OperationMix;
use super::settings::PathsSettings;
use crate::file_threads::check_threads;
use crate::setting_error::SettingError;

/// A workload with all its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathsPlan {
    pub(super) model: PathModel,
    pub(super) mix: OperationMix,
    pub(super) threads: u32,
    /// Operations per second at most.
    pub(super) rate: Option<Rate>,
}

impl PathsPlan {
    /// Completes `settings` with defaults, and checks them; leaves the timetable out.
    ///
    /// # Errors
    /// The first invalid setting.
    pub(crate) fn new(settings: &PathsSettings) -> Result<Self, SettingError> {
        let model = PathModel {
            files: settings.files.unwrap_or_else(|| PathModel::default().files),
            depth: settings.depth,
            directory_width: settings.directory_width,
            mean_file_bytes: settings.mean_file_size.0,
            exponent: settings.exponent,
            locality: settings.locality,
        };
        model.check().map_err(|error| SettingError::new(error.field, error.got, error.wanted))?;
        check_threads(settings.threads, settings.rate)?;
        Ok(Self { model, mix: OperationMix::new(settings)?, threads: settings.threads, rate: settings.rate })
    }

    /// The bytes of all files, on average.
    pub(crate) fn bytes(&self) -> u64 {
        self.model.files.saturating_mul(self.model.mean_file_bytes)
    }

    /// The marker of the tree.
    pub(crate) fn marker(&self, seed: u64) -> DatabaseManifest {
        let PathModel { files, depth, directory_width, mean_file_bytes, .. } = self.model;
        DatabaseManifest {
            engine: "paths".to_owned(),
            engine_version: String::new(),
            options: Value::Null,
            records: files,
            form: format!("files at depth {depth}, {directory_width} in a directory"),
            value_bytes: mean_file_bytes,
            load: "as files".to_owned(),
            // It decides the sizes.
            seed,
            loaded: false,
            changed: false,
            made_at_unix_ns: 0,
        }
    }
}

impl PathsSettings {
    /// The same workload with its data shrunk to the share `factor`; unchanged where it is invalid.
    pub fn shrunk(&self, factor: f64) -> Self {
        let Ok(plan) = PathsPlan::new(self) else { return self.clone() };
        Self { files: Some(((plan.model.files as f64 * factor) as u64).max(1)), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ByteSize;

    use super::*;

    #[test]
    fn every_error_names_its_setting_and_a_valid_value() {
        let storm = PathsSettings::default();
        PathsPlan::new(&storm).unwrap();
        let cases = [
            (PathsSettings { files: Some(0), ..storm.clone() }, "files", "from 1"),
            (PathsSettings { depth: "3".parse().unwrap(), ..storm.clone() }, "depth", "at least 4 deep"),
            (PathsSettings { directory_width: 0, ..storm.clone() }, "directory_width", "from 1"),
            (PathsSettings { mean_file_size: ByteSize(u64::MAX), ..storm.clone() }, "mean_file_size", "1PiB"),
            (PathsSettings { threads: 0, ..storm.clone() }, "threads", "1 to 512"),
            (PathsSettings { threads: 513, ..storm.clone() }, "threads", "1 to 512"),
            (PathsSettings { rate: Some(Rate::Bytes(1)), ..storm.clone() }, "rate", "1000/s"),
            (PathsSettings { exponent: 11.0, ..storm.clone() }, "exponent", "from 0"),
            (PathsSettings { locality: 1.0, ..storm.clone() }, "locality", "below 1"),
            (PathsSettings { list_proportion: -1.0, ..storm }, "list_proportion", "from 0"),
        ];
        for (settings, name, wanted) in cases {
            let error = PathsPlan::new(&settings).unwrap_err();
            assert_eq!(error.name, name, "{error}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }

    #[test]
    fn data_shrink_by_the_number_of_files() {
        let whole = PathsSettings::default();
        assert!(whole.scales_to_disk());
        let tenth = whole.shrunk(0.1);
        assert_eq!((tenth.files, tenth.scales_to_disk()), (Some(10_000), false));
        assert_eq!(whole.shrunk(1e-12).files, Some(1));
        assert!(PathsPlan::new(&whole.shrunk(1e-12)).is_ok());
        assert_eq!(PathsPlan::new(&tenth).unwrap().bytes(), 10_000 << 16);
    }

    #[test]
    fn a_marker_distinguishes_other_trees_and_not_other_operations() {
        let of = |settings: &PathsSettings, seed| PathsPlan::new(settings).unwrap().marker(seed);
        let storm = PathsSettings::default();
        let marker = of(&storm, 1);
        let busier = PathsSettings { threads: 9, locality: 0.0, exponent: 0.0, stat_proportion: 0.0, ..storm.clone() };
        assert!(marker.differences(&of(&busier, 1), false).is_empty());
        // Another seed has other sizes with the same mean: it can stand in.
        assert!(marker.differences(&of(&storm, 2), true).is_empty());
        assert!(!marker.differences(&of(&storm, 2), false).is_empty());
        let others = [
            PathsSettings { files: Some(10), ..storm.clone() },
            PathsSettings { depth: "9".parse().unwrap(), ..storm.clone() },
            PathsSettings { directory_width: 30, ..storm.clone() },
            PathsSettings { mean_file_size: ByteSize(1), ..storm },
        ];
        for other in others {
            assert!(!marker.differences(&of(&other, 1), true).is_empty(), "{other:?}");
        }
    }
}
