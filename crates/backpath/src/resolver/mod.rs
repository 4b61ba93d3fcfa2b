//! Resolution of paths by the rules of Linux (`path_resolution(7)`): from the end over the cache, the rest from the store.

mod walk;

use std::borrow::Cow;

use self::walk::{Step, Walk};
use crate::attributes::{Entry, Kind};
use crate::cache::{CachedResult, PathCache};
use crate::credentials::Principal;
use crate::errno::{Errno, ResolveError};
use crate::path::{PATH_MAX, canonical, displayed};
use crate::store::{AsyncStore, Store};

/// The most symbolic links on the way of one path.
pub const LINKS_MAX: u32 = 40;

/// A path, and how it is meant.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    path: &'a [u8],
    base: &'a [u8],
    follows: bool,
}

impl<'a> Query<'a> {
    /// A path; a symbolic link at its end is followed, as by `stat(2)`.
    pub fn new(path: &'a [u8]) -> Self {
        Self { path, base: b"/", follows: true }
    }

    /// A symbolic link at the end is the answer, as by `lstat(2)`.
    pub fn without_following(self) -> Self {
        Self { follows: false, ..self }
    }

    /// If the path is relative it begins in this directory, which is named by an absolute path. Unlike the working
    /// directory of a process, this one has to be reachable from the root: that is stricter than Linux.
    pub fn relative_to(self, base: &'a [u8]) -> Self {
        Self { base, ..self }
    }

    /// The whole path, if it is relative.
    fn joined(&self) -> Option<Vec<u8>> {
        (!self.path.is_empty() && self.path[0] != b'/').then(|| [self.base, b"/", self.path].concat())
    }
}

/// What one resolution cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Probes of the hash table.
    pub probes: u32,
    /// Questions to the store, the one for the root included.
    pub lookups: u32,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved<'a, E> {
    /// The object.
    pub entry: E,
    /// Its path without symbolic links, `.` and `..`.
    pub path: Cow<'a, [u8]>,
}

/// Resolves paths over one cache.
///
/// Whoever is granted access may search every directory on the way, as the store's answers have it; changes of the
/// store have to be told to the cache ([`PathCache::change`]).
#[derive(Clone, Copy)]
pub struct Resolver<'c, E: Entry + Send + Sync + 'static> {
    cache: &'c PathCache<E>,
}

impl<'c, E: Entry + Send + Sync + 'static> Resolver<'c, E> {
    /// Over this cache.
    pub fn new(cache: &'c PathCache<E>) -> Self {
        Self { cache }
    }

    /// Resolves `query` for `principal`; asks `store` for what the cache does not know.
    ///
    /// # Errors
    /// What Linux would say of the path, or the failure of the store. `counts` grows by what it cost in any case.
    pub fn resolve<'a, S: Store<Entry = E>>(
        &self,
        query: &Query<'a>,
        principal: &Principal,
        store: &S,
        counts: &mut Counts,
    ) -> Result<Resolved<'a, E>, ResolveError<S::Error>> {
        let mut walk = match self.probe_cache(query, principal, counts)? {
            CacheProbe::Settled(resolved) => return Ok(resolved),
            CacheProbe::Unsettled(walk) => walk,
        };
        loop {
            match walk.advance(counts)? {
                Step::Root(ticket) => walk.supply_root(ticket, store.root().map_err(ResolveError::Store)?),
                Step::LookUp(asked) => {
                    let entry = store.look_up(&asked.directory, &asked.name).map_err(ResolveError::Store)?;
                    walk.supply(asked, entry)?;
                }
                Step::Done(resolved) => return Ok(resolved),
            }
        }
    }

    /// The same over a store that is awaited.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub async fn resolve_async<'a, S: AsyncStore<Entry = E>>(
        &self,
        query: &Query<'a>,
        principal: &Principal,
        store: &S,
        counts: &mut Counts,
    ) -> Result<Resolved<'a, E>, ResolveError<S::Error>> {
        let mut walk = match self.probe_cache(query, principal, counts)? {
            CacheProbe::Settled(resolved) => return Ok(resolved),
            CacheProbe::Unsettled(walk) => walk,
        };
        loop {
            match walk.advance(counts)? {
                Step::Root(ticket) => walk.supply_root(ticket, store.root().await.map_err(ResolveError::Store)?),
                Step::LookUp(asked) => {
                    let entry = store.look_up(&asked.directory, &asked.name).await.map_err(ResolveError::Store)?;
                    walk.supply(asked, entry)?;
                }
                Step::Done(resolved) => return Ok(resolved),
            }
        }
    }

    /// What the cache alone says of a path: the object, a refusal, or `None` if the store would have to be asked.
    ///
    /// # Errors
    /// What Linux would say of the path.
    pub fn resolve_cached<'a>(
        &self,
        query: &Query<'a>,
        principal: &Principal,
        counts: &mut Counts,
    ) -> Result<Option<Resolved<'a, E>>, Errno> {
        let mut walk = match self.probe_cache(query, principal, counts)? {
            CacheProbe::Settled(resolved) => return Ok(Some(resolved)),
            CacheProbe::Unsettled(walk) => walk,
        };
        match walk.advance(counts)? {
            Step::Done(resolved) => Ok(Some(resolved)),
            Step::Root(_) | Step::LookUp(_) => Ok(None),
        }
    }

    /// The common case: the whole path is cached and granted. Otherwise a walk that begins at the deepest prefix found.
    fn probe_cache<'a>(
        &self,
        query: &Query<'a>,
        principal: &Principal,
        counts: &mut Counts,
    ) -> Result<CacheProbe<'a, 'c, E>, Errno> {
        let Some(path) = canonical(query.path).filter(|path| path.len() <= PATH_MAX) else {
            let joined = query.joined();
            let path = joined.as_deref().unwrap_or(query.path);
            return Walk::new(self.cache, principal, path, query.follows).map(CacheProbe::unsettled);
        };
        let since = self.cache.epoch();
        let guard = crossbeam_epoch::pin();
        let hashes = self.cache.hashes(path);
        let found = self.cache.deepest(path, &hashes, principal, true, &mut counts.probes, &guard);
        let is_end = |entry: &E| !query.follows || entry.kind() != Kind::Symlink;
        match found {
            Some((length, CachedResult::Entry(Some(entry)))) if length == path.len() && is_end(&entry) => {
                Ok(CacheProbe::Settled(Resolved { entry, path: Cow::Borrowed(query.path) }))
            }
            Some((length, CachedResult::Alias { entry: Some(entry), canonical }))
                if length == path.len() && is_end(&entry) =>
            {
                let path = Cow::Owned(displayed(&canonical).to_vec());
                Ok(CacheProbe::Settled(Resolved { entry, path }))
            }
            Some((_, CachedResult::Entry(None) | CachedResult::Alias { entry: None, .. })) => Err(Errno::NotFound),
            Some((length, CachedResult::Entry(Some(entry)))) => {
                let mut walk = Walk::new(self.cache, principal, query.path, query.follows)?;
                walk.begin_at(path, length, entry, since);
                Ok(CacheProbe::unsettled(walk))
            }
            Some((_, CachedResult::Alias { .. })) | None => {
                Walk::new(self.cache, principal, query.path, query.follows).map(CacheProbe::unsettled)
            }
        }
    }
}

enum CacheProbe<'a, 'c, E: Entry + Send + Sync + 'static> {
    Settled(Resolved<'a, E>),
    Unsettled(Box<Walk<'c, E>>),
}

impl<'c, E: Entry + Send + Sync + 'static> CacheProbe<'_, 'c, E> {
    fn unsettled(walk: Walk<'c, E>) -> Self {
        Self::Unsettled(Box::new(walk))
    }
}
