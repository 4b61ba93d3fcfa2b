//! `db_bench`: its output with interval reports. Each benchmark becomes a phase.

use manometer_workload::command::ParserName;

use crate::import_format::{ImportFormat, read_each};
use crate::program_output;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "db_bench",
    about: "Output of RocksDB's db_bench with `--stats_interval_seconds`: each benchmark becomes a phase.",
    read: |files| read_each(files, |path| program_output::read(ParserName::DbBench, path)),
};
