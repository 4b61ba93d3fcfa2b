//! Writes through one reused batch, as db_bench does.
//!
//! The binding's `put` allocates and frees a batch for every call, and its `write` consumes the batch; both allocate
//! memory of the value's size each time. Only the C interface accepts a batch that is kept.

use std::ffi::{CStr, c_char};
use std::ptr;

use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr as _, DB};

use super::options::Writes;

/// Writes to a database, one entry at a time.
pub(super) struct Writer<'a> {
    db: &'a DB,
    batch: *mut ffi::rocksdb_writebatch_t,
    options: *mut ffi::rocksdb_writeoptions_t,
}

// SAFETY: RocksDB's batches and options are not tied to a thread; one thread at a time uses these.
unsafe impl Send for Writer<'_> {}

impl<'a> Writer<'a> {
    /// A writer to `db` with the durability of `writes`.
    pub(super) fn new(db: &'a DB, writes: Writes) -> Self {
        // SAFETY: these create objects, which `drop` destroys; RocksDB aborts the process without memory.
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

    /// Writes the batch, and clears it in any case.
    fn write(&mut self) -> Result<(), String> {
        let mut error: *mut c_char = ptr::null_mut();
        // SAFETY: the database is open while it is borrowed; batch and options live as long as `self`; an error is a
        // zero-terminated text that the caller frees.
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
        // SAFETY: both were created by `new` and are destroyed once.
        unsafe {
            ffi::rocksdb_writebatch_destroy(self.batch);
            ffi::rocksdb_writeoptions_destroy(self.options);
        }
    }
}

fn chars(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}
