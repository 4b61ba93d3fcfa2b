//! One reader in each file, all of one shape: the format's entry in the list, and from bytes to records.

pub(crate) mod adapt_size;
pub(crate) mod address;
pub(crate) mod arc;
pub(crate) mod blkparse;
pub(crate) mod blkreplay;
pub(crate) mod bytes;
pub(crate) mod cache2k;
pub mod csv;
pub(crate) mod fio_iolog;
pub(crate) mod ibm_object_store;
pub(crate) mod keys;
pub(crate) mod kv_replay;
pub(crate) mod lcs;
pub(crate) mod lirs;
pub(crate) mod memcached;
pub(crate) mod meta_block;
pub(crate) mod meta_kv;
pub(crate) mod msr;
pub(crate) mod operation_name;
pub(crate) mod oracle_general;
pub(crate) mod parquet;
pub(crate) mod redis_aof;
pub(crate) mod redis_command;
pub(crate) mod redis_monitor;
pub(crate) mod rocksdb;
pub(crate) mod rocksdb_text;
pub(crate) mod spc;
pub(crate) mod systor;
pub(crate) mod twitter;
pub(crate) mod vscsi;

#[cfg(test)]
pub(crate) mod tests {
    use crate::{BATCH_RECORDS, Format, ReadOptions, Record, TraceError, open_stream};

    /// All records of a good trace.
    pub(crate) fn records(format: &'static Format, trace: &[u8]) -> Vec<Record> {
        records_with(&ReadOptions { format: Some(format), ..ReadOptions::default() }, trace)
    }

    pub(crate) fn records_with(options: &ReadOptions, trace: &[u8]) -> Vec<Record> {
        let (records, error) = all(options, trace);
        assert!(error.is_none(), "{error:?}");
        records
    }

    /// Where and why a trace is damaged.
    pub(crate) fn damage(format: &'static Format, trace: &[u8]) -> (u64, String) {
        match all(&ReadOptions { format: Some(format), ..ReadOptions::default() }, trace).1 {
            Some(TraceError::Damaged { offset, what, .. }) => (offset, what.into_owned()),
            other => panic!("{other:?}"),
        }
    }

    /// The format that a trace's content says.
    pub(crate) fn found(trace: &[u8]) -> &'static str {
        match open_stream(Box::new(std::io::Cursor::new(trace.to_vec())), &ReadOptions::default()) {
            Ok(trace) => trace.format.name,
            Err(error) => panic!("{error}"),
        }
    }

    fn all(options: &ReadOptions, trace: &[u8]) -> (Vec<Record>, Option<TraceError>) {
        let mut reader = open_stream(Box::new(std::io::Cursor::new(trace.to_vec())), options).unwrap().reader;
        let (mut batch, mut records) = (Vec::new(), Vec::new());
        loop {
            match reader.read(&mut batch) {
                Ok(0) => return (records, None),
                Ok(_) => records.append(&mut batch),
                Err(error) => {
                    assert_eq!(reader.read(&mut batch).unwrap(), 0);
                    return (records, Some(error));
                }
            }
            assert!(records.len() < 100 * BATCH_RECORDS);
        }
    }
}
