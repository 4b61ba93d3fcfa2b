//! Trace readers, one per file: each has the format's entry in the registry, and decodes bytes to records.

pub(crate) mod bytes;
pub(crate) mod operation_name;
pub(crate) mod redis_command;
#[cfg(test)]
pub(crate) mod tests;

use crate::error::TraceError;
use crate::format::Format;

/// Declares the modules of the formats and [`FORMATS`], their registry.
macro_rules! formats {
    ($($module:ident: $($format:ident)+;)+) => {
        $(pub(crate) mod $module;)+

        /// Every format, the most distinctive first.
        pub static FORMATS: &[&Format] = &[$($(&$module::$format),+),+];
    };
}

// A new format is a file in this directory and a line here.
formats! {
    parquet: FORMAT;
    lcs: FORMAT;
    rocksdb: FORMAT;
    fio_iolog: FORMAT;
    redis_aof: FORMAT;
    vscsi: FORMAT_1 FORMAT_2;
    oracle_general: FORMAT;
    cache2k: FORMAT;
    blkreplay: FORMAT;
    msr: FORMAT;
    systor: FORMAT;
    meta_block: FORMAT;
    meta_kv: FORMAT;
    spc: FORMAT;
    redis_monitor: FORMAT;
    memcached: FORMAT;
    blkparse: FORMAT;
    ibm_object_store: FORMAT;
    rocksdb_text: FORMAT;
    kv_replay: FORMAT;
    arc: FORMAT;
    adapt_size: FORMAT;
    address: FORMAT;
    twitter: FORMAT;
    csv: FORMAT;
    lirs: FORMAT;
    keys: FORMAT;
}

impl Format {
    /// The format of this name.
    ///
    /// # Errors
    /// There is none; the text names those that exist.
    pub fn find(name: &str) -> Result<&'static Self, TraceError> {
        FORMATS
            .iter()
            .copied()
            .find(|format| format.name == name)
            .ok_or_else(|| TraceError::Wrong(format!("there is no format `{name}`: write one of {}", names())))
    }
}

/// The names of all formats.
pub(crate) fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}
