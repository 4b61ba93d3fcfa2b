//! fio: its JSON documents, or its logs.

mod logs;

use manometer_workload::command::ParserName;

use crate::import_format::{ImportFormat, read_each};
use crate::program_output;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fio",
    about: "fio's JSON output (`--output-format=json+ --status-interval`), or its logs (`NAME_bw.1.log` and so on): \
            logs with the same NAME are one run.",
    read: |files| {
        if files.iter().all(|path| logs::is_log(path)) {
            return logs::read(files);
        }
        read_each(files, |path| program_output::read(ParserName::Fio, path))
    },
};
