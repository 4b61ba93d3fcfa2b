//! A metadata store as what is mounted.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use rustix::io::Errno;

use super::node_file_system::{
    Attribution, FileType, Handle, NewObject, NodeFileSystem, SetStat, Space, Stat, Writing,
};
use super::nodes::Nodes;
use crate::attributes::{Attributes, Kind};
use crate::credentials::{Capabilities, Credentials};
use crate::metadata::{KeyValue, MetadataError, MetadataStore};
use crate::operation::Operation;
use crate::resolver::Query;

const BLOCK: u64 = 4096;
/// The bit of a directory that gives its group to what is created in it.
const SET_GROUP: u16 = 0o2000;

/// A metadata store. It has files, directories and links; times are those of modification.
pub struct StoredFileSystem<K: KeyValue> {
    store: Arc<MetadataStore<K>>,
    clock: fn() -> SystemTime,
    nodes: RwLock<Nodes<()>>,
}

impl<K: KeyValue + 'static> StoredFileSystem<K> {
    /// Over a store; `clock` tells the time.
    pub fn new(store: MetadataStore<K>, clock: fn() -> SystemTime) -> Self {
        Self { store: Arc::new(store), clock, nodes: RwLock::new(Nodes::new(())) }
    }

    /// The store, which counts its round trips.
    pub fn store(&self) -> Arc<MetadataStore<K>> {
        Arc::clone(&self.store)
    }

    fn now_ns(&self) -> i64 {
        nanoseconds((self.clock)())
    }

    fn act(&self, operation: &Operation<'_>, credentials: &Credentials) -> Result<(), Errno> {
        self.store.act(operation, credentials, self.now_ns()).map_err(errno)
    }

    fn attributes(&self, path: &[u8]) -> Result<Attributes, Errno> {
        let query = Query::new(path).without_following();
        self.store.open(&query, &Credentials::root()).map(|opened| opened.attributes).map_err(errno)
    }

    fn path(&self, number: u64) -> Result<Vec<u8>, Errno> {
        self.nodes.read().path(number).ok_or(Errno::STALE)
    }

    fn child(&self, directory: u64, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.nodes.read().child(directory, name).ok_or(Errno::STALE)
    }

    /// The attributes of what has this name now.
    fn remembered(&self, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        let stat = stat(&self.attributes(&self.child(directory, name)?)?);
        self.nodes.write().remember(stat.inode, directory, name, ());
        Ok(stat)
    }
}

impl<K: KeyValue + 'static> NodeFileSystem for StoredFileSystem<K> {
    type Handle = StoredHandle<K>;

    fn look_up(&self, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        self.remembered(directory, name)
    }

    fn forget(&self, number: u64, lookups: u64) {
        self.nodes.write().forget(number, lookups);
    }

    fn stat(&self, number: u64) -> Result<Stat, Errno> {
        self.store.stat(number).map(|attributes| stat(&attributes)).map_err(errno)
    }

    fn read_link(&self, number: u64) -> Result<Vec<u8>, Errno> {
        let attributes = self.store.stat(number).map_err(errno)?;
        attributes.target.map(|target| target.to_vec()).ok_or(Errno::INVAL)
    }

    fn list(&self, number: u64) -> Result<Vec<(Vec<u8>, u64, FileType)>, Errno> {
        let names = self.store.list(&self.path(number)?, &Credentials::root()).map_err(errno)?;
        Ok(names.into_iter().map(|(name, inode, kind)| (name, inode, file_type(kind))).collect())
    }

    fn create_file(
        &self,
        directory: u64,
        name: &[u8],
        by: Attribution,
        writes: bool,
    ) -> Result<(Stat, StoredHandle<K>), Errno> {
        let stat = self.create(directory, name, NewObject::Node(FileType::Regular, 0), by)?;
        // The kernel hears of no object when opening fails.
        let handle = self.open(stat.inode, writes).inspect_err(|_| self.forget(stat.inode, 1))?;
        Ok((stat, handle))
    }

    fn create(&self, directory: u64, name: &[u8], object: NewObject<'_>, by: Attribution) -> Result<Stat, Errno> {
        let path = self.child(directory, name)?;
        let above = self.store.stat(directory).map_err(errno)?;
        let inherits = above.mode & SET_GROUP != 0;
        let gid = if inherits { above.gid } else { by.gid };
        let credentials = Credentials::new(by.uid, gid, &[]).with_capabilities(Capabilities::ALL);
        let mode = by.mode & !by.mask;
        let operation = match object {
            NewObject::Node(FileType::Regular, _) => Operation::Create(&path, mode),
            NewObject::Node(..) => return Err(Errno::PERM),
            NewObject::Directory => Operation::MakeDirectory(&path, if inherits { mode | SET_GROUP } else { mode }),
            NewObject::Symlink(target) => Operation::Symlink(target, &path),
        };
        self.act(&operation, &credentials)?;
        self.remembered(directory, name)
    }

    fn link(&self, number: u64, directory: u64, name: &[u8]) -> Result<Stat, Errno> {
        let (path, new) = (self.path(number)?, self.child(directory, name)?);
        self.act(&Operation::Link(&path, &new), &Credentials::root())?;
        self.remembered(directory, name)
    }

    fn unlink(&self, directory: u64, name: &[u8]) -> Result<(), Errno> {
        self.act(&Operation::Unlink(&self.child(directory, name)?), &Credentials::root())?;
        self.nodes.write().unlink(directory, name);
        Ok(())
    }

    fn remove_directory(&self, directory: u64, name: &[u8]) -> Result<(), Errno> {
        self.act(&Operation::RemoveDirectory(&self.child(directory, name)?), &Credentials::root())?;
        self.nodes.write().unlink(directory, name);
        Ok(())
    }

    fn rename(&self, from: (u64, &[u8]), to: (u64, &[u8]), keeps: bool) -> Result<(), Errno> {
        let (old, new) = (self.child(from.0, from.1)?, self.child(to.0, to.1)?);
        if keeps && self.attributes(&new).is_ok() {
            return Err(Errno::EXIST);
        }
        self.act(&Operation::Rename(&old, &new), &Credentials::root())?;
        // Two names of one object both stay.
        if self.attributes(&old).is_err() {
            self.nodes.write().rename(from, to);
        }
        Ok(())
    }

    fn set(&self, number: u64, set: &SetStat) -> Result<Stat, Errno> {
        let before = self.store.stat(number).map_err(errno)?;
        if let Some(size) = set.size {
            self.store.truncate(before.inode, size, self.now_ns()).map_err(errno)?;
        }
        let is_given = set.uid.is_some() || set.gid.is_some();
        let (uid, gid) = (set.uid.unwrap_or(before.uid), set.gid.unwrap_or(before.gid));
        if before.kind == Kind::Symlink {
            // An operation would change what it leads to.
            if is_given {
                self.store.change_owner_of_link(before.inode, uid, gid).map_err(errno)?;
            }
        } else {
            if is_given {
                self.act(&Operation::ChangeOwner(&self.path(number)?, uid, gid), &Credentials::root())?;
            }
            // A file that changes hands keeps no right to act as its owner.
            let is_given = is_given && before.kind == Kind::File;
            let mode = set.mode.or_else(|| is_given.then_some(before.mode & !0o6000));
            if let Some(mode) = mode.filter(|mode| *mode != before.mode) {
                self.act(&Operation::ChangeMode(&self.path(number)?, mode), &Credentials::root())?;
            }
        }
        if let Some(modified) = set.modified {
            self.store.touch(before.inode, nanoseconds(modified)).map_err(errno)?;
        }
        self.stat(number)
    }

    fn open(&self, number: u64, _writes: bool) -> Result<StoredHandle<K>, Errno> {
        let inode = self.store.stat(number).map_err(errno)?.inode;
        Ok(StoredHandle { store: Arc::clone(&self.store), clock: self.clock, inode })
    }

    /// A store knows no limit: it says that there is room, as network file systems do.
    fn space(&self) -> Result<Space, Errno> {
        let (blocks, files) = (1 << 30, 1 << 30);
        let block_size = BLOCK as u32;
        Ok(Space { block_size, blocks, free: blocks, available: blocks, files, files_free: files })
    }
}

/// An open file of the store.
pub struct StoredHandle<K: KeyValue> {
    store: Arc<MetadataStore<K>>,
    clock: fn() -> SystemTime,
    inode: u64,
}

impl<K: KeyValue + 'static> Handle for StoredHandle<K> {
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        self.store.read(self.inode, offset, length).map_err(errno)
    }

    fn write(&self, bytes: &[u8], how: Writing) -> Result<usize, Errno> {
        let now_ns = nanoseconds((self.clock)());
        let written = match how.offset {
            Some(offset) => self.store.write(self.inode, offset, bytes, now_ns),
            None => self.store.append(self.inode, bytes, now_ns),
        };
        written.map_err(errno)
    }

    /// Every write is as durable as the key-value store makes it.
    fn sync(&self, _data_only: bool) -> Result<(), Errno> {
        Ok(())
    }

    fn stat(&self) -> Result<Stat, Errno> {
        self.store.stat(self.inode).map(|attributes| stat(&attributes)).map_err(errno)
    }

    fn set_size(&self, size: u64, _clears_set_id: bool) -> Result<(), Errno> {
        self.store.truncate(self.inode, size, nanoseconds((self.clock)())).map_err(errno)
    }
}

/// What is no refusal is a failure of the store: a full disk, or any other.
fn errno<E: std::error::Error + 'static>(error: MetadataError<E>) -> Errno {
    match error {
        MetadataError::Refused(refused) => Errno::from_raw_os_error(refused.code()),
        MetadataError::KeyValue(error) if is_of_full_disk(&error) => Errno::NOSPC,
        _ => Errno::IO,
    }
}

fn is_of_full_disk(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut kinds = causes.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.any(|kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

fn stat(attributes: &Attributes) -> Stat {
    let modified = time(attributes.modified_ns);
    Stat {
        inode: attributes.inode,
        generation: 0,
        file_type: file_type(attributes.kind),
        mode: attributes.mode,
        links: attributes.links,
        uid: attributes.uid,
        gid: attributes.gid,
        device: 0,
        size: attributes.size,
        blocks: attributes.size.div_ceil(512),
        accessed: modified,
        modified,
        changed: modified,
    }
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::File => FileType::Regular,
    }
}

fn time(nanoseconds: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let signed = |distance: Duration| i64::try_from(distance.as_nanos()).unwrap_or(i64::MAX);
    time.duration_since(UNIX_EPOCH).map_or_else(|before| -signed(before.duration()), signed)
}
