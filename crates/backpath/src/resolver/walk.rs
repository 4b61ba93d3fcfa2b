//! A walk along a path: it says what it has to know and is told, so that stores that block and stores that are awaited
//! walk alike.
//!
//! The names up to the next `..`, or to the end, are one *run*, appended to the canonical path walked so far. The cache is
//! asked for the run's deepest prefix that the principal may reach; from there the walk goes forwards and checks
//! permissions, through the cache as far as it goes and the store from there. A symbolic link or `..` ends the run; what
//! follows is a new one. Song 2018 resolves `..` before it looks anything up, which is wrong behind symbolic links and
//! skips the check that the directory exists and may be searched.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{Counts, LINKS_MAX, Resolved};
use crate::attributes::{Entry, Kind};
use crate::cache::{CachedResult, HashedPath, LinkStep, PathCache, Ticket};
use crate::credentials::Principal;
use crate::errno::Errno;
use crate::path::{Component, Components, NAME_MAX, canonical, displayed, parent};

pub(super) struct Walk<'c, E: Entry + Send + Sync + 'static> {
    cache: &'c PathCache<E>,
    principal: Principal,
    follows: bool,
    needs_directory: bool,
    /// The epoch at which the walk began.
    since: u64,
    /// The canonical path of the run, as far as it is known to be one: up to `at`.
    run: Vec<u8>,
    at: usize,
    /// What is at `run[..at]`; `None` before the run was looked up.
    here: Option<E>,
    /// What follows the run.
    pending: VecDeque<Component>,
    links: u32,
    alias: Option<AliasBuilder>,
}

/// What will be kept of a path with symbolic links, if nothing forbids it.
struct AliasBuilder {
    literal: Box<[u8]>,
    ticket: Ticket,
    hops: Vec<LinkStep>,
}

/// What a walk needs next.
pub(super) enum Step<'a, E> {
    /// The root directory.
    Root(Ticket),
    /// A name in a directory.
    LookUp(PendingLookup<E>),
    /// Nothing: it is there.
    Done(Resolved<'a, E>),
}

/// A question to the store.
pub(super) struct PendingLookup<E> {
    pub directory: E,
    pub name: Box<[u8]>,
    ticket: Ticket,
    end: usize,
}

impl<'c, E: Entry + Send + Sync + 'static> Walk<'c, E> {
    /// A walk along an absolute path.
    pub fn new(cache: &'c PathCache<E>, principal: &Principal, path: &[u8], follows: bool) -> Result<Self, Errno> {
        let parsed = Components::parse(path)?;
        let alias = canonical(path).map(|literal| AliasBuilder {
            literal: literal.into(),
            ticket: cache.ticket(path),
            hops: Vec::new(),
        });
        let mut walk = Self {
            cache,
            principal: principal.clone(),
            follows,
            needs_directory: parsed.needs_directory,
            since: cache.epoch(),
            run: Vec::new(),
            at: 0,
            here: None,
            pending: parsed.steps.into(),
            links: 0,
            alias,
        };
        walk.take_run();
        Ok(walk)
    }

    /// Begins at a prefix of the whole path, which is one run, that was found at `since`.
    pub fn begin_at(&mut self, path: &[u8], length: usize, entry: E, since: u64) {
        debug_assert_eq!(self.run, path, "a canonical path is one run");
        self.at = length;
        self.here = Some(entry);
        self.since = self.since.min(since);
    }

    /// Goes on until something has to be asked.
    pub fn advance<'a>(&mut self, counts: &mut Counts) -> Result<Step<'a, E>, Errno> {
        loop {
            let Some(here) = self.here.clone() else {
                match self.backwards(counts)? {
                    Some(()) => continue,
                    None => return Ok(Step::Root(self.cache.ticket_of(self.cache.hashes(&[]).of(0)))),
                }
            };
            if here.kind() == Kind::Symlink && self.must_follow() {
                self.redirect(&here)?;
            } else if self.at < self.run.len() {
                if let Some(asked) = self.forwards(here, counts)? {
                    return Ok(Step::LookUp(asked));
                }
            } else if let Some(entry) = self.end_run(here)? {
                return Ok(Step::Done(self.finish(entry)));
            }
        }
    }

    /// Takes the root that was asked for.
    pub fn supply_root(&mut self, ticket: Ticket, root: E) {
        let hashes = self.cache.hashes(&[]);
        let place = HashedPath { path: &[], hashes: &hashes };
        self.cache.insert_at(&place, Some(&root), ticket, (&self.principal, self.since), &crossbeam_epoch::pin());
        self.at = 0;
        self.here = Some(root);
    }

    /// Takes what was asked for.
    pub fn supply(&mut self, asked: PendingLookup<E>, entry: Option<E>) -> Result<(), Errno> {
        let hashes = self.cache.hashes(&self.run);
        let place = HashedPath { path: &self.run[..asked.end], hashes: &hashes };
        let granted = (&self.principal, self.since);
        self.cache.insert_at(&place, entry.as_ref(), asked.ticket, granted, &crossbeam_epoch::pin());
        self.at = asked.end;
        self.here = entry;
        if self.here.is_some() { Ok(()) } else { Err(Errno::NotFound) }
    }

    /// Appends the next names to the run.
    fn take_run(&mut self) {
        while let Some(Component::Name(name)) = self.pending.front() {
            self.run.push(b'/');
            self.run.extend_from_slice(name);
            self.pending.pop_front();
        }
        self.here = None;
    }

    /// Finds the deepest prefix of the run that the principal may reach; `None` if the root has to be asked for.
    fn backwards(&mut self, counts: &mut Counts) -> Result<Option<()>, Errno> {
        let guard = crossbeam_epoch::pin();
        let hashes = self.cache.hashes(&self.run);
        let found = self.cache.deepest(&self.run, &hashes, &self.principal, false, &mut counts.probes, &guard);
        match found {
            Some((length, CachedResult::Entry(Some(entry)))) => {
                self.at = length;
                self.here = Some(entry);
                Ok(Some(()))
            }
            Some((_, CachedResult::Entry(None) | CachedResult::Alias { .. })) => Err(Errno::NotFound),
            None => {
                counts.lookups += 1;
                Ok(None)
            }
        }
    }

    /// Whether a symbolic link at `at` stands for its target here.
    fn must_follow(&self) -> bool {
        self.at < self.run.len() || !self.pending.is_empty() || self.follows || self.needs_directory
    }

    /// Puts the target of the link in its place.
    fn redirect(&mut self, link: &E) -> Result<(), Errno> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::TooManyLinks);
        }
        let target = link.target().unwrap_or_default();
        let parsed = Components::parse(target)?;
        let is_last = self.at == self.run.len() && self.pending.is_empty();
        self.build_alias(target, &parsed);
        self.needs_directory |= is_last && parsed.needs_directory;
        let names = self.run[self.at..].split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        let rest: Vec<Component> = names.map(|name| Component::Name(name.into())).collect();
        for step in parsed.steps.into_iter().chain(rest).rev() {
            self.pending.push_front(step);
        }
        let kept = if parsed.is_absolute { 0 } else { parent(&self.run[..self.at]).len() };
        self.run.truncate(kept);
        self.take_run();
        Ok(())
    }

    /// A path is kept as an alias if it depends on nothing but its links and its end: no link is the last component,
    /// which is not always followed, and no `..` leaves a directory that was entered on the way.
    fn build_alias(&mut self, target: &[u8], parsed: &Components) {
        let names = parsed.steps.iter().skip_while(|step| **step == Component::Parent);
        let is_plain = names.clone().all(|step| matches!(step, Component::Name(_)));
        if self.at == self.run.len() || !is_plain {
            self.alias = None;
        }
        if let Some(alias) = &mut self.alias {
            alias.hops.push(LinkStep { link: self.run[..self.at].into(), target: target.into() });
        }
    }

    /// Takes one step forwards; returns what to ask if the cache does not know.
    fn forwards(&mut self, here: E, counts: &mut Counts) -> Result<Option<PendingLookup<E>>, Errno> {
        self.search(&here)?;
        let start = self.at + 1;
        let length = self.run[start..].iter().position(|&byte| byte == b'/').unwrap_or(self.run.len() - start);
        if length > NAME_MAX {
            return Err(Errno::NameTooLong);
        }
        let end = start + length;
        let guard = crossbeam_epoch::pin();
        let hashes = self.cache.hashes(&self.run);
        let place = HashedPath { path: &self.run[..end], hashes: &hashes };
        let ticket = self.cache.ticket_of(hashes.of(end));
        let Some(known) = self.cache.peek(&place, &mut counts.probes, &guard) else {
            counts.lookups += 1;
            return Ok(Some(PendingLookup { directory: here, name: self.run[start..end].into(), ticket, end }));
        };
        self.cache.grant(&place, &self.principal, self.since, &guard);
        self.at = end;
        self.here = known;
        if self.here.is_some() { Ok(None) } else { Err(Errno::NotFound) }
    }

    fn search(&self, directory: &E) -> Result<(), Errno> {
        match directory.kind() {
            Kind::Directory if directory.may_search(self.principal.credentials()) => Ok(()),
            Kind::Directory => Err(Errno::AccessDenied),
            Kind::Symlink | Kind::File => Err(Errno::NotADirectory),
        }
    }

    /// Goes on behind the run; returns the entry if nothing follows.
    fn end_run(&mut self, here: E) -> Result<Option<E>, Errno> {
        match self.pending.front() {
            None if self.needs_directory && here.kind() != Kind::Directory => Err(Errno::NotADirectory),
            None => Ok(Some(here)),
            Some(Component::Name(_)) => {
                self.take_run();
                Ok(None)
            }
            Some(Component::Here) => {
                self.search(&here)?;
                self.pending.pop_front();
                Ok(None)
            }
            Some(Component::Parent) => {
                self.search(&here)?;
                self.pending.pop_front();
                self.run.truncate(parent(&self.run).len());
                self.take_run();
                Ok(None)
            }
        }
    }

    fn finish<'a>(&mut self, entry: E) -> Resolved<'a, E> {
        if let Some(alias) = self.alias.take().filter(|alias| !alias.hops.is_empty()) {
            self.cache.insert_alias(&alias.literal, alias.hops, &self.run, alias.ticket);
        }
        Resolved { entry, path: Cow::Owned(displayed(&self.run).to_vec()) }
    }
}
