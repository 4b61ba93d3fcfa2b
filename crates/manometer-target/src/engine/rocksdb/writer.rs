//! Writes through one batch that is used again and again, as db_bench writes.
//!
//! The binding's `put` has RocksDB make and drop a batch for every call, and its `write` takes the batch away; both
//! ask the allocator for the size of a value each time. Only the C interface itself takes a batch that stays.

use std::ffi::{CStr, c_char};
use std::ptr;

use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr as _, DB};

use super::options::Writes;

/// Writes to a database, one entry after the other.
pub(super) struct Writer<'a> {
    db: &'a DB,
    batch: *mut ffi::rocksdb_writebatch_t,
    options: *mut ffi::rocksdb_writeoptions_t,
}

// SAFETY: RocksDB's batches and options belong to no thread; one thread at a time uses these.
unsafe impl Send for Writer<'_> {}

impl<'a> Writer<'a> {
    /// A writer to `db`, as durable as `writes` says.
    pub(super) fn new(db: &'a DB, writes: Writes) -> Self {
        // SAFETY: these make new objects, which `drop` gives back; RocksDB ends the process where memory lacks.
        unsafe {
            let options = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(options, u8::from(writes.sync));
            ffi::rocksdb_writeoptions_disable_WAL(options, i32::from(writes.without_log));
            Self { db, batch: ffi::rocksdb_writebatch_create(), options }
        }
    }

    /// Writes `value` under `key`; the error is RocksDB's own text.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        // SAFETY: the batch copies both slices before this returns.
        unsafe { ffi::rocksdb_writebatch_put(self.batch, chars(key), key.len(), chars(value), value.len()) };
        self.write()
    }

    /// Deletes `key`; the error is RocksDB's own text.
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<(), String> {
        // SAFETY: the batch copies the slice before this returns.
        unsafe { ffi::rocksdb_writebatch_delete(self.batch, chars(key), key.len()) };
        self.write()
    }

    /// Merges `operand` into what `key` holds; the error is RocksDB's own text.
    pub(super) fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), String> {
        // SAFETY: the batch copies both slices before this returns.
        unsafe { ffi::rocksdb_writebatch_merge(self.batch, chars(key), key.len(), chars(operand), operand.len()) };
        self.write()
    }

    /// Writes the batch, and empties it whether that went well or not.
    fn write(&mut self) -> Result<(), String> {
        let mut error: *mut c_char = ptr::null_mut();
        // SAFETY: the database is open as long as it is borrowed; batch and options live as long as `self`; an error
        // is a text that ends with a zero byte and is the caller's to give back.
        unsafe {
            ffi::rocksdb_write(self.db.as_raw_ptr(), self.options, self.batch, &raw mut error);
            ffi::rocksdb_writebatch_clear(self.batch);
            if error.is_null() {
                return Ok(());
            }
            let text = CStr::from_ptr(error).to_string_lossy().into_owned();
            ffi::rocksdb_free(error.cast());
            Err(text)
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // SAFETY: both were made by `new` and are given back once.
        unsafe {
            ffi::rocksdb_writebatch_destroy(self.batch);
            ffi::rocksdb_writeoptions_destroy(self.options);
        }
    }
}

fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}
