//! The list of all formats, one file each.

use crate::import_format::ImportFormat;

/// Declares the modules of the formats, and [`FORMATS`], the list of all of them.
macro_rules! formats {
    ($($module:ident)+) => {
        $(mod $module;)+

        /// Every format, in the order of the manual.
        pub const FORMATS: &[ImportFormat] = &[$($module::FORMAT),+];
    };
}

// A new format is a file in this directory and a line here.
formats! {
    storiks
    ycsb
    db_bench
    fio
    resctl_bench
}

pub use storiks::experiment_of_flags;

/// The format called `name`.
pub fn find_format(name: &str) -> Option<&'static ImportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}
