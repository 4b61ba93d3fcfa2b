//! The content of files, in chunks.

use super::client::{ATTEMPTS, MetadataError, MetadataStore, attributes};
use super::key_value::{KeyValue, Read, Write};
use super::{keys, record};
use crate::attributes::{Attributes, Kind};
use crate::errno::Errno;

/// The bytes of a chunk.
const CHUNK: u64 = 64 << 10;
/// The largest file.
const SIZE_MAX: u64 = 1 << 34;
/// The most bytes that one call reads or writes.
const BYTES_PER_CALL: usize = 4 << 20;

impl<K: KeyValue> MetadataStore<K> {
    /// The attributes of an object by its inode; nobody's permissions are checked.
    ///
    /// # Errors
    /// `ENOENT` for a file that is gone, or the failure of the store.
    pub fn stat(&self, inode: u64) -> Result<Attributes, MetadataError<K::Error>> {
        self.file(inode, &[]).map(|(file, ..)| file)
    }

    /// Bytes of a file from `offset`; fewer at its end. At most 4 MiB at once.
    ///
    /// # Errors
    /// `ENOENT` for a file that is gone, or the failure of the store.
    pub fn read(&self, inode: u64, offset: u64, length: usize) -> Result<Vec<u8>, MetadataError<K::Error>> {
        let end = offset.saturating_add(length.min(BYTES_PER_CALL) as u64).min(SIZE_MAX);
        let (file, _, chunks) = self.file(inode, &chunks(offset, end))?;
        let end = end.min(file.size);
        let first = offset / CHUNK * CHUNK;
        let mut bytes = joined(&chunks);
        bytes.truncate(end.saturating_sub(first) as usize);
        Ok(bytes.split_off(bytes.len().min((offset - first) as usize)))
    }

    /// Writes bytes to a file from `offset`, at most 4 MiB at once; returns how many. The file loses its set-user-ID and
    /// set-group-ID bits, whoever writes.
    ///
    /// # Errors
    /// `EFBIG` beyond 16 GiB, `ENOENT` for a file that is gone, or the failure of the store.
    pub fn write(&self, inode: u64, offset: u64, bytes: &[u8], now_ns: i64) -> Result<usize, MetadataError<K::Error>> {
        self.write_where(inode, bytes, now_ns, |_| offset)
    }

    /// Writes bytes at the end of a file, at most 4 MiB at once; returns how many. Several clients that append to a file all
    /// find what they wrote.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn append(&self, inode: u64, bytes: &[u8], now_ns: i64) -> Result<usize, MetadataError<K::Error>> {
        self.write_where(inode, bytes, now_ns, |file| file.size)
    }

    fn write_where(
        &self,
        inode: u64,
        bytes: &[u8],
        now_ns: i64,
        place: impl Fn(&Attributes) -> u64,
    ) -> Result<usize, MetadataError<K::Error>> {
        let bytes = &bytes[..bytes.len().min(BYTES_PER_CALL)];
        for _ in 0..ATTEMPTS {
            let offset = place(&self.stat(inode)?);
            if self.write_if(inode, offset, bytes, now_ns, |file| place(file) == offset)? {
                return Ok(bytes.len());
            }
        }
        Err(MetadataError::Contended)
    }

    /// Writes if the file is still as it has to be; returns whether it did.
    fn write_if(
        &self,
        inode: u64,
        offset: u64,
        bytes: &[u8],
        now_ns: i64,
        is_right: impl Fn(&Attributes) -> bool,
    ) -> Result<bool, MetadataError<K::Error>> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= SIZE_MAX).ok_or(Errno::FileTooLarge)?;
        let numbers = chunks(offset, end);
        let mut is_written = false;
        self.update(inode, &numbers, |file, before| {
            is_written = is_right(file);
            if !is_written {
                return Vec::new();
            }
            file.size = file.size.max(end);
            file.modified_ns = now_ns;
            file.mode = without_set_id(file.mode);
            let first = offset / CHUNK * CHUNK;
            let mut content = joined(before);
            content[(offset - first) as usize..(end - first) as usize].copy_from_slice(bytes);
            let parts = numbers.iter().zip(content.chunks(CHUNK as usize));
            parts.map(|(&number, part)| set(inode, number, part)).collect()
        })?;
        Ok(is_written)
    }

    /// Cuts a file, or lengthens it by zeros. It loses its bits as by [`write`](Self::write).
    ///
    /// # Errors
    /// `EFBIG` beyond 16 GiB, `ENOENT` for a file that is gone, or the failure of the store.
    pub fn truncate(&self, inode: u64, size: u64, now_ns: i64) -> Result<(), MetadataError<K::Error>> {
        if size > SIZE_MAX {
            return Err(Errno::FileTooLarge.into());
        }
        let last = size / CHUNK;
        self.update(inode, &[last], |file, before| {
            let chunks_before = file.size.div_ceil(CHUNK);
            (file.size, file.modified_ns) = (size, now_ns);
            file.mode = without_set_id(file.mode);
            let mut content = joined(before);
            content[(size % CHUNK) as usize..].fill(0);
            let removed = (last + 1..chunks_before).map(|number| Write::RemoveField(keys::data(inode), field(number)));
            std::iter::once(set(inode, last, &content)).chain(removed).collect()
        })
    }

    /// Sets the time of modification.
    ///
    /// # Errors
    /// `ENOENT` for a file that is gone, or the failure of the store.
    pub fn touch(&self, inode: u64, modified_ns: i64) -> Result<(), MetadataError<K::Error>> {
        self.update(inode, &[], |file, _| {
            file.modified_ns = modified_ns;
            Vec::new()
        })
    }

    /// Sets the owner and the group of a symbolic link itself, which no operation on its path reaches.
    ///
    /// # Errors
    /// `EINVAL` for anything else, `ENOENT` for a link that is gone, or the failure of the store.
    pub fn change_owner_of_link(&self, inode: u64, uid: u32, gid: u32) -> Result<(), MetadataError<K::Error>> {
        if self.stat(inode)?.kind != Kind::Symlink {
            return Err(Errno::Invalid.into());
        }
        self.update(inode, &[], |link, _| {
            (link.uid, link.gid) = (uid, gid);
            Vec::new()
        })
    }

    #[expect(clippy::type_complexity, reason = "a triple, within this file")]
    fn file(
        &self,
        inode: u64,
        chunks: &[u64],
    ) -> Result<(Attributes, Vec<u8>, Vec<Option<Vec<u8>>>), MetadataError<K::Error>> {
        let reads = chunks.iter().map(|&number| Read::Field(keys::data(inode), field(number)));
        let reads: Vec<Read> = std::iter::once(Read::Value(keys::inode(inode))).chain(reads).collect();
        let mut values = self.key_value.read(&reads).map_err(MetadataError::KeyValue)?.into_iter();
        let bytes = values.next().flatten().ok_or(Errno::NotFound)?;
        Ok((attributes(inode, Some(&bytes))?, bytes, values.collect()))
    }

    /// Changes attributes and chunks at once, again if somebody else does meanwhile.
    fn update(
        &self,
        inode: u64,
        chunks: &[u64],
        mut change: impl FnMut(&mut Attributes, &[Option<Vec<u8>>]) -> Vec<Write>,
    ) -> Result<(), MetadataError<K::Error>> {
        for _ in 0..ATTEMPTS {
            let (mut file, before, content) = self.file(inode, chunks)?;
            if !chunks.is_empty() && file.kind == Kind::Directory {
                return Err(Errno::IsADirectory.into());
            }
            let mut writes = change(&mut file, &content);
            writes.push(Write::Set(keys::inode(inode), record::encode(&file)));
            let expected = [(keys::inode(inode), Some(before))];
            if self.key_value.apply(&expected, &writes).map_err(MetadataError::KeyValue)? {
                return Ok(());
            }
        }
        Err(MetadataError::Contended)
    }
}

fn chunks(offset: u64, end: u64) -> Vec<u64> {
    (offset / CHUNK..end.div_ceil(CHUNK)).collect()
}

/// Chunks side by side, each at its full length: what is missing is zeros.
fn joined(chunks: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = vec![0; chunks.len() * CHUNK as usize];
    for (place, chunk) in bytes.chunks_mut(CHUNK as usize).zip(chunks) {
        let chunk = chunk.as_deref().unwrap_or_default();
        let length = chunk.len().min(place.len());
        place[..length].copy_from_slice(&chunk[..length]);
    }
    bytes
}

/// Zeros at the end are not stored.
fn set(inode: u64, number: u64, chunk: &[u8]) -> Write {
    let length = chunk.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Write::SetField(keys::data(inode), field(number), chunk[..length].to_vec())
}

fn field(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// A mode without the rights to act as the file's owner and, where it can be executed, its group.
fn without_set_id(mode: u16) -> u16 {
    let set_group = if mode & 0o010 == 0 { 0 } else { 0o2000 };
    mode & !(0o4000 | set_group)
}
