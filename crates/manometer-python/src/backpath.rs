//! The cache of paths of `backpath`.

use std::sync::{Arc, Mutex, PoisonError};

use backpath::{
    Attributes, Capabilities, Change, Counts, Credentials, Kind, Lookup, Options, Principal, Query, ResolveError,
    Resolver, Store,
};
use pyo3::prelude::*;

use crate::error;

/// An object: inode, kind, mode, uid, gid, links, size, target of a symbolic link.
type Entry = (u64, u32, u16, u32, u32, u32, u64, Option<Vec<u8>>);
/// Who asks: uid, gid, groups, and a bit for each capability.
type Who = (u32, u32, Vec<u32>, u32);
/// What changes, by kind: entries, subtrees, permissions, inodes.
type Changes = (Vec<Vec<u8>>, Vec<Vec<u8>>, Vec<Vec<u8>>, Vec<u64>);

const KINDS: [Kind; 3] = [Kind::File, Kind::Directory, Kind::Symlink];
const CAPACITY_MAX: u64 = 1 << 28;

/// A cache of paths.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct PathCache(Arc<backpath::PathCache<Attributes>>);

/// What `PathCache.ticket` remembers from before a look-up.
///
/// ```python
/// >>> cache = manometer.backpath.PathCache()
/// >>> reader = manometer.backpath.Credentials(uid=1000, gid=1000)
/// >>> ticket = cache.ticket("/file")
/// >>> with cache.renaming("/file", "/other"):
/// ...     pass
/// >>> cache.insert("/file", manometer.backpath.Entry(2), reader, ticket=ticket)  # the entry is from before
/// False
///
/// ```
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct Ticket(backpath::Ticket);

fn attributes(entry: Entry) -> PyResult<Attributes> {
    let (inode, kind, mode, uid, gid, links, size, target) = entry;
    let kind = KINDS.get(kind as usize).copied().ok_or_else(|| error::path("the kind of an entry is unknown"))?;
    let target = target.map(Into::into);
    Ok(Attributes { links, size, target, ..Attributes::new(inode, kind, mode & 0o7777, uid, gid) })
}

fn entry(attributes: &Attributes) -> Entry {
    let Attributes { inode, kind, mode, uid, gid, links, size, target, .. } = attributes;
    let number = KINDS.iter().position(|one| one == kind).unwrap_or_default() as u32;
    (*inode, number, *mode, *uid, *gid, *links, *size, target.as_deref().map(<[u8]>::to_vec))
}

fn credentials((uid, gid, groups, bits): &Who) -> Credentials {
    let has = |bit: u32| bits & bit != 0;
    let capabilities = Capabilities { dac_override: has(1), dac_read_search: has(2), fowner: has(4), chown: has(8) };
    Credentials::new(*uid, *gid, groups).with_capabilities(capabilities)
}

/// Whatever has the methods `root` and `look_up` in Python.
struct PythonStore<'py>(&'py Bound<'py, PyAny>);

impl Store for PythonStore<'_> {
    type Entry = Attributes;
    type Error = PyErr;

    fn root(&self) -> PyResult<Attributes> {
        attributes(self.0.call_method0("root")?.extract()?)
    }

    fn look_up(&self, directory: &Attributes, name: &[u8]) -> PyResult<Option<Attributes>> {
        let found: Option<Entry> = self.0.call_method1("look_up", (entry(directory), name))?.extract()?;
        found.map(attributes).transpose()
    }
}

impl PathCache {
    fn principal(&self, who: &Who) -> Principal {
        self.0.principal(&credentials(who))
    }
}

/// What a look-up found: a name for it, how many bytes of the path it is about, the object.
type Found = (&'static str, usize, Option<Entry>);
/// What a path led to: the object, its path, probes of the cache, questions to the store.
type Resolved = (Entry, Vec<u8>, u32, u32);

#[pymethods]
impl PathCache {
    #[new]
    fn new(capacity: u64, grants: usize, seed: u64) -> PyResult<Self> {
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            return Err(error::path(format!("the capacity is {capacity} paths: 1 to {CAPACITY_MAX}")));
        }
        if grants > backpath::GRANTS_MAX {
            return Err(error::path(format!("{grants} grants for each entry: at most {}", backpath::GRANTS_MAX)));
        }
        let options = Options { capacity: capacity as usize, grants, seed, ..Options::default() };
        Ok(Self(backpath::PathCache::new(options).into()))
    }

    fn lookup(&self, path: &[u8], who: Who) -> Found {
        match self.0.lookup(path, &self.principal(&who)) {
            Lookup::Miss => ("miss", 0, None),
            Lookup::Hit(found) => ("hit", path.len(), Some(entry(&found))),
            Lookup::Negative => ("negative", path.len(), None),
            Lookup::Prefix { length, entry: None } => ("negative", length, None),
            Lookup::Prefix { length, entry: Some(found) } => ("prefix", length, Some(entry(&found))),
        }
    }

    fn ticket(&self, path: &[u8]) -> Ticket {
        Ticket(self.0.ticket(path))
    }

    fn insert(&self, ticket: &Bound<'_, Ticket>, path: &[u8], found: Option<Entry>, who: Who) -> PyResult<bool> {
        let found = found.map(attributes).transpose()?;
        Ok(self.0.insert(ticket.get().0, path, found.as_ref(), &self.principal(&who)))
    }

    /// Asks `store` for what the cache does not know.
    fn resolve(
        &self,
        path: &[u8],
        base: &[u8],
        follows: bool,
        who: Who,
        store: &Bound<'_, PyAny>,
    ) -> PyResult<Resolved> {
        let query = Query::new(path).relative_to(base);
        let query = if follows { query } else { query.without_following() };
        let (principal, mut counts) = (self.principal(&who), Counts::default());
        let found = Resolver::new(&self.0).resolve(&query, &principal, &PythonStore(store), &mut counts);
        match found {
            Ok(found) => Ok((entry(&found.entry), found.path.into_owned(), counts.probes, counts.lookups)),
            Err(ResolveError::Refused(errno)) => Err(error::refused(errno, path)),
            Err(ResolveError::Store(failed)) => Err(failed),
        }
    }

    /// Begins a change, which lasts until it is ended.
    fn begin_change(&self, changes: Changes) -> PyResult<OpenChange> {
        OpenChange::begin(&self.0, &changes)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn evictions(&self) -> u64 {
        self.0.evictions()
    }
}

/// A change of the file system under way.
#[pyclass(frozen, module = "manometer._native")]
pub(crate) struct OpenChange(Mutex<Option<backpath::OpenChange<'static, Attributes>>>);

impl OpenChange {
    fn begin(
        cache: &Arc<backpath::PathCache<Attributes>>,
        (entries, subtrees, permissions, inodes): &Changes,
    ) -> PyResult<Self> {
        let changes: Vec<Change<'_>> = entries
            .iter()
            .map(|path| Change::Entry(path))
            .chain(subtrees.iter().map(|path| Change::Subtree(path)))
            .chain(permissions.iter().map(|path| Change::Permission(path)))
            .chain(inodes.iter().map(|inode| Change::Inode(*inode)))
            .collect();
        let open = cache.begin_shared_change(&changes).map_err(|_| {
            error::path("a path of the change is not canonical: write it from the root, without `.`, `..` and `//`")
        })?;
        Ok(Self(Mutex::new(Some(open))))
    }
}

#[pymethods]
impl OpenChange {
    /// Ends it; ending twice is no error.
    fn end(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
