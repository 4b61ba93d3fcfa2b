//! A client of the metadata service.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::key_value::{KeyValue, Read, Write};
use super::{keys, record};
use crate::attributes::{Attributes, Kind};
use crate::cache::{Change, Options, PathCache};
use crate::credentials::Credentials;
use crate::errno::{Errno, ResolveError};
use crate::operation::{Edit, Namespace, Operation, Plan, plan};
use crate::resolver::{Counts, Query, Resolver};
use crate::store::Store;

/// The root's inode.
pub(super) const ROOT: u64 = 1;
/// How often something is tried that other clients' changes overtake.
pub(super) const ATTEMPTS: u32 = 1000;
/// How many changes the store remembers. A client that is further behind forgets everything.
const CHANGES_KEPT: u64 = 10_000;
/// The most changes that are read at once.
const CHANGES_PER_READ: u64 = 1000;

/// Why a metadata store did not do something.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError<E: std::error::Error> {
    /// What Linux would say.
    #[error(transparent)]
    Refused(#[from] Errno),
    /// The key-value store failed.
    #[error("the key-value store failed: {0}")]
    KeyValue(E),
    /// The key-value store has something that no metadata store wrote.
    #[error("{0} cannot be read: the store is damaged, or was written by something else")]
    Damaged(String),
    /// Other clients changed the store every time before this one could.
    #[error("other clients changed the store {ATTEMPTS} times before this one could: try again")]
    Contended,
}

impl<E: std::error::Error> MetadataError<E> {
    /// The refusal, if it was one.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused(errno) => Some(*errno),
            _ => None,
        }
    }
}

impl<E: std::error::Error> From<ResolveError<MetadataError<E>>> for MetadataError<E> {
    fn from(error: ResolveError<Self>) -> Self {
        match error {
            ResolveError::Refused(errno) => Self::Refused(errno),
            ResolveError::Store(error) => error,
        }
    }
}

/// What was opened: attributes as the store has them at that moment, and the canonical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// The object.
    pub attributes: Attributes,
    /// Its path without symbolic links, `.` and `..`.
    pub path: Vec<u8>,
}

/// A client with a cache of paths.
pub struct MetadataStore<K: KeyValue> {
    pub(super) key_value: K,
    cache: PathCache<Attributes>,
    /// The epoch up to which the cache has been told of changes.
    seen: AtomicU64,
    catching_up: Mutex<()>,
}

/// The service as the slow side of a resolver: a round trip for each name.
struct Names<'a, K>(&'a K);

impl<K: KeyValue> Store for Names<'_, K> {
    type Entry = Attributes;
    type Error = MetadataError<K::Error>;

    fn root(&self) -> Result<Attributes, Self::Error> {
        let bytes = self.0.read(&[Read::Value(keys::inode(ROOT))]).map_err(MetadataError::KeyValue)?;
        attributes(ROOT, bytes.first().and_then(Option::as_deref))
    }

    fn look_up(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Self::Error> {
        let through = Read::Through(keys::directory(directory.inode), name.to_vec(), keys::INODE.to_vec());
        let values = self.0.read(&[through]).map_err(MetadataError::KeyValue)?;
        let [link, value] = values.as_slice() else { return Err(damaged("a name")) };
        let Some(link) = link else { return Ok(None) };
        let (inode, _) = record::decode_name(link).ok_or_else(|| damaged("a name"))?;
        attributes(inode, value.as_deref()).map(Some)
    }
}

impl<K: KeyValue> MetadataStore<K> {
    /// Opens the store behind `key_value`. An empty one becomes one with a root directory of mode 755 that belongs to root.
    ///
    /// # Errors
    /// If the key-value store fails, or holds something else.
    pub fn open_on(key_value: K, options: Options) -> Result<Self, MetadataError<K::Error>> {
        let root = record::encode(&Attributes::new(ROOT, Kind::Directory, 0o755, 0, 0));
        let first = 1_u64.to_le_bytes().to_vec();
        let writes = [Write::Set(keys::EPOCH.to_vec(), first), Write::Set(keys::inode(ROOT), root)];
        let expected = [(keys::EPOCH.to_vec(), None), (keys::inode(ROOT), None)];
        key_value.apply(&expected, &writes).map_err(MetadataError::KeyValue)?;
        let cache = PathCache::new(options);
        let store = Self { key_value, cache, seen: AtomicU64::new(0), catching_up: Mutex::new(()) };
        store.seen.store(store.epoch()?, Ordering::Release);
        Names(&store.key_value).root()?;
        Ok(store)
    }

    /// What a path leads to, for these credentials. A warm path of any depth costs one round trip.
    ///
    /// # Errors
    /// What Linux would say, or the failure of the store.
    pub fn open(&self, query: &Query<'_>, credentials: &Credentials) -> Result<OpenFile, MetadataError<K::Error>> {
        self.open_counted(query, credentials, &mut Counts::default())
    }

    /// The same, counting.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_counted(
        &self,
        query: &Query<'_>,
        credentials: &Credentials,
        counts: &mut Counts,
    ) -> Result<OpenFile, MetadataError<K::Error>> {
        let principal = self.cache.principal(credentials);
        for _ in 0..ATTEMPTS {
            let seen = self.seen.load(Ordering::Acquire);
            let found = Resolver::new(&self.cache).resolve(query, &principal, &Names(&self.key_value), counts);
            let inode = match &found {
                Ok(found) => Some(found.entry.inode),
                Err(ResolveError::Refused(_)) => None,
                // Another client may have removed what was being walked through.
                Err(ResolveError::Store(MetadataError::Damaged(_))) if self.catch_up_from(seen)? => continue,
                Err(ResolveError::Store(_)) => return Err(found.err().map_or(MetadataError::Contended, Into::into)),
            };
            let (epoch, value) = self.read_with_epoch(inode)?;
            if epoch != seen {
                self.catch_up(epoch)?;
                continue;
            }
            let found = found?;
            let attributes = attributes(found.entry.inode, value.as_deref())?;
            return Ok(OpenFile { attributes, path: found.path.into_owned() });
        }
        Err(MetadataError::Contended)
    }

    /// Does an operation as these credentials. `now_ns` is the time, in nanoseconds since 1970.
    ///
    /// # Errors
    /// What Linux would say, or the failure of the store. Access control lists are not stored: `EINVAL`.
    pub fn act(
        &self,
        operation: &Operation<'_>,
        credentials: &Credentials,
        now_ns: i64,
    ) -> Result<(), MetadataError<K::Error>> {
        if matches!(operation, Operation::ChangeAcl(_, Some(_))) {
            return Err(Errno::Invalid.into());
        }
        for _ in 0..ATTEMPTS {
            let seen = self.seen.load(Ordering::Acquire);
            let view = View { store: self, seen, records: Mutex::default() };
            let plan = match plan(&view, operation, credentials) {
                Ok(plan) => plan,
                Err(error) if self.catch_up_from(seen)? => {
                    drop(error);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if self.commit(&plan, &view, now_ns)? {
                return Ok(());
            }
            self.catch_up_from(seen)?;
        }
        Err(MetadataError::Contended)
    }

    /// The names in a directory that these credentials may read, with inodes and kinds, sorted.
    ///
    /// # Errors
    /// What Linux would say, or the failure of the store.
    #[expect(clippy::type_complexity, reason = "triples, once")]
    pub fn list(
        &self,
        path: &[u8],
        credentials: &Credentials,
    ) -> Result<Vec<(Vec<u8>, u64, Kind)>, MetadataError<K::Error>> {
        let directory = self.open(&Query::new(path), credentials)?.attributes;
        if directory.kind != Kind::Directory {
            return Err(Errno::NotADirectory.into());
        }
        if !directory.permits(credentials, crate::Access::READ) {
            return Err(Errno::AccessDenied.into());
        }
        let fields = self.key_value.fields(&keys::directory(directory.inode)).map_err(MetadataError::KeyValue)?;
        let name = |(name, value): (Vec<u8>, Vec<u8>)| {
            record::decode_name(&value).map(|(inode, kind)| (name, inode, kind)).ok_or_else(|| damaged("a name"))
        };
        let mut names = fields.into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
        names.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(names)
    }

    /// The cache, for its figures.
    pub fn cache(&self) -> &PathCache<Attributes> {
        &self.cache
    }

    /// How often the key-value store was asked so far.
    pub fn round_trips(&self) -> u64 {
        self.key_value.round_trips()
    }

    /// What the path leads to by a walk from the front that asks the store for every name: what a client without a cache
    /// pays.
    ///
    /// # Errors
    /// What Linux would say, or the failure of the store.
    pub fn open_from_the_front(
        &self,
        path: &[u8],
        credentials: &Credentials,
    ) -> Result<OpenFile, MetadataError<K::Error>> {
        let names = Names(&self.key_value);
        let found = crate::ForwardResolver::new(&names).resolve(path, credentials, true, &mut Counts::default());
        let (attributes, path) = found?;
        Ok(OpenFile { attributes, path })
    }

    fn epoch(&self) -> Result<u64, MetadataError<K::Error>> {
        self.read_with_epoch(None).map(|(epoch, _)| epoch)
    }

    /// The epoch, and the record of an inode at the same moment.
    #[expect(clippy::type_complexity, reason = "a pair, once")]
    fn read_with_epoch(&self, inode: Option<u64>) -> Result<(u64, Option<Vec<u8>>), MetadataError<K::Error>> {
        let reads = [keys::EPOCH.to_vec()].into_iter().chain(inode.map(keys::inode)).map(Read::Value);
        let values = self.key_value.read(&reads.collect::<Vec<_>>()).map_err(MetadataError::KeyValue)?;
        let mut values = values.into_iter();
        let epoch = values.next().flatten().and_then(|bytes| record::decode_number(&bytes));
        Ok((epoch.ok_or_else(|| damaged("the epoch"))?, values.next().flatten()))
    }

    /// Tells the cache of what happened since `seen`; returns whether anything did.
    fn catch_up_from(&self, seen: u64) -> Result<bool, MetadataError<K::Error>> {
        let epoch = self.epoch()?;
        self.catch_up(epoch)?;
        Ok(epoch != seen)
    }

    /// Tells the cache of all changes up to `epoch`.
    fn catch_up(&self, epoch: u64) -> Result<(), MetadataError<K::Error>> {
        let _one_at_a_time = self.catching_up.lock();
        let mut seen = self.seen.load(Ordering::Acquire);
        if epoch.saturating_sub(seen) > CHANGES_KEPT {
            self.forget_everything()?;
            self.seen.fetch_max(epoch, Ordering::AcqRel);
            return Ok(());
        }
        while seen < epoch {
            let next = epoch.min(seen + CHANGES_PER_READ);
            let reads: Vec<Read> = (seen + 1..=next).map(|epoch| Read::Value(keys::change(epoch))).collect();
            for change in self.key_value.read(&reads).map_err(MetadataError::KeyValue)? {
                match change {
                    Some(bytes) => self.apply_changes(&bytes)?,
                    None => self.forget_everything()?,
                }
            }
            self.seen.fetch_max(next, Ordering::AcqRel);
            seen = next;
        }
        Ok(())
    }

    fn apply_changes(&self, bytes: &[u8]) -> Result<(), MetadataError<K::Error>> {
        let changes = record::decode_changes(bytes).ok_or_else(|| damaged("a change"))?;
        let changes: Vec<Change<'_>> = changes.iter().map(|change| change.borrow()).collect();
        self.cache.change(&changes, || ()).map_err(|_| damaged("a change"))
    }

    fn forget_everything(&self) -> Result<(), Errno> {
        self.cache.change(&[Change::Subtree(b"/"), Change::Permission(b"/")], || ())
    }

    /// Writes what is planned if nothing changed since it was planned; returns whether it did.
    fn commit(&self, plan: &Plan, view: &View<'_, K>, now_ns: i64) -> Result<bool, MetadataError<K::Error>> {
        if plan.edit == Edit::Nothing {
            return Ok(self.epoch()? == view.seen);
        }
        let records = view.records.lock();
        let mut writes = writes(&plan.edit, &records, now_ns);
        let next = view.seen + 1;
        writes.push(Write::Set(keys::EPOCH.to_vec(), next.to_le_bytes().to_vec()));
        writes.push(Write::Set(keys::change(next), record::encode_changes(plan.owned_changes())));
        writes.push(Write::Remove(keys::change(next.saturating_sub(CHANGES_KEPT))));
        let mut expected = vec![(keys::EPOCH.to_vec(), Some(view.seen.to_le_bytes().to_vec()))];
        expected.extend(records.iter().map(|(inode, bytes)| (keys::inode(*inode), Some(bytes.clone()))));
        let apply = || self.key_value.apply(&expected, &writes).map_err(MetadataError::KeyValue);
        let is_done = self.cache.change(&plan.changes(), apply)??;
        if is_done {
            self.seen.fetch_max(next, Ordering::AcqRel);
        }
        Ok(is_done)
    }
}

/// The store as an operation is judged on it. It notes every record that it read, so that the operation is written only
/// if none of them changed.
struct View<'a, K: KeyValue> {
    store: &'a MetadataStore<K>,
    seen: u64,
    records: Mutex<HashMap<u64, Vec<u8>>>,
}

impl<K: KeyValue> View<'_, K> {
    /// Reads an object that the cache or a name led to.
    fn fresh(&self, inode: u64) -> Result<Option<Attributes>, MetadataError<K::Error>> {
        let values = self.store.key_value.read(&[Read::Value(keys::inode(inode))]).map_err(MetadataError::KeyValue)?;
        let Some(bytes) = values.into_iter().next().flatten() else { return Ok(None) };
        let attributes = attributes(inode, Some(&bytes))?;
        self.records.lock().insert(inode, bytes);
        Ok(Some(attributes))
    }
}

impl<K: KeyValue> Namespace for View<'_, K> {
    type Error = MetadataError<K::Error>;

    fn resolve(
        &self,
        path: &[u8],
        credentials: &Credentials,
        follows: bool,
    ) -> Result<(Attributes, Vec<u8>), ResolveError<Self::Error>> {
        let principal = self.store.cache.principal(credentials);
        let query = if follows { Query::new(path) } else { Query::new(path).without_following() };
        let names = Names(&self.store.key_value);
        let found = Resolver::new(&self.store.cache).resolve(&query, &principal, &names, &mut Counts::default())?;
        let fresh = self.fresh(found.entry.inode).map_err(ResolveError::Store)?;
        let attributes = fresh.ok_or(ResolveError::Refused(Errno::NotFound))?;
        Ok((attributes, found.path.into_owned()))
    }

    fn child(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Self::Error> {
        match Names(&self.store.key_value).look_up(directory, name)? {
            Some(child) => self.fresh(child.inode),
            None => Ok(None),
        }
    }

    fn is_empty(&self, directory: &Attributes) -> Result<bool, Self::Error> {
        let fields = self.store.key_value.fields(&keys::directory(directory.inode));
        fields.map(|fields| fields.is_empty()).map_err(MetadataError::KeyValue)
    }

    /// Every object takes an epoch when it is created.
    fn next_inode(&self) -> u64 {
        self.seen + 1
    }
}

/// What an edit writes. Directories whose names change are modified now.
fn writes(edit: &Edit, records: &HashMap<u64, Vec<u8>>, now_ns: i64) -> Vec<Write> {
    let set = |attributes: &Attributes| Write::Set(keys::inode(attributes.inode), record::encode(attributes));
    let set_name = |directory: u64, name: &[u8], object: &Attributes| {
        Write::SetField(keys::directory(directory), name.to_vec(), record::encode_name(object.inode, object.kind))
    };
    let remove_name = |directory: u64, name: &[u8]| Write::RemoveField(keys::directory(directory), name.to_vec());
    let touch = |directory: u64| {
        let before = records.get(&directory).and_then(|bytes| record::decode(directory, bytes));
        before.map(|before| set(&Attributes { modified_ns: now_ns, ..before }))
    };
    match edit {
        Edit::Nothing => Vec::new(),
        Edit::Create { parent, name, attributes } => {
            let created = Attributes { modified_ns: now_ns, ..attributes.clone() };
            let writes = [set_name(*parent, name, &created), set(&created)];
            writes.into_iter().chain(touch(*parent)).collect()
        }
        Edit::Link { parent, name, object } => {
            let linked = Attributes { links: object.links + 1, ..object.clone() };
            [set_name(*parent, name, &linked), set(&linked)].into_iter().chain(touch(*parent)).collect()
        }
        Edit::Remove { parent, name, object } => {
            let writes = [remove_name(*parent, name)].into_iter().chain(unlinked(object));
            writes.chain(touch(*parent)).collect()
        }
        Edit::Rename { from, to, object, replaced } => {
            let mut writes = vec![remove_name(from.0, &from.1), set_name(to.0, &to.1, object)];
            writes.extend(replaced.iter().flat_map(unlinked));
            writes.extend(touch(from.0));
            writes.extend(touch(to.0).filter(|_| to.0 != from.0));
            writes
        }
        Edit::Set(attributes) => vec![set(attributes)],
    }
}

/// An object with one name less; with none it is gone, and so is its content.
fn unlinked(object: &Attributes) -> Vec<Write> {
    if object.links > 1 {
        let left = Attributes { links: object.links - 1, ..object.clone() };
        return vec![Write::Set(keys::inode(object.inode), record::encode(&left))];
    }
    let map = match object.kind {
        Kind::Directory => keys::directory(object.inode),
        Kind::Symlink | Kind::File => keys::data(object.inode),
    };
    vec![Write::Remove(keys::inode(object.inode)), Write::RemoveMap(map)]
}

pub(super) fn attributes<E: std::error::Error>(
    inode: u64,
    bytes: Option<&[u8]>,
) -> Result<Attributes, MetadataError<E>> {
    bytes.and_then(|bytes| record::decode(inode, bytes)).ok_or_else(|| damaged(&format!("inode {inode}")))
}

pub(super) fn damaged<E: std::error::Error>(what: &str) -> MetadataError<E> {
    MetadataError::Damaged(what.to_owned())
}
