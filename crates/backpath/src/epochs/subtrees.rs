//! Epochs of subtrees: a change of any subtree costs the same, however much is cached below it.
//!
//! Every change takes the next epoch and notes it in the cell of the path whose subtree it concerns. What is cached
//! carries the epoch at which it was right (its *stamp*), and is still right if no cell of the path's prefixes has a later
//! one. Cells are found by the hash of the prefix; two paths can share one. Then a change of one invalidates below the
//! other too: a needless look-up, never an access.
//!
//! A change has a beginning and an end, and what is done in between happens to the store. Both take an epoch, and while a
//! change is open nothing may be kept that was looked up below it: nobody could tell on which side of the change it was read.

use super::sync::{AtomicU32, AtomicU64, Mutex, Ordering};

/// What a change concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Which objects paths lead to: a directory moved, went, or was mounted over.
    Structure,
    /// Who may search a directory.
    Permission,
}

struct Cell {
    structure: AtomicU64,
    permission: AtomicU64,
    open: AtomicU32,
}

impl Cell {
    fn new() -> Self {
        Self { structure: AtomicU64::new(0), permission: AtomicU64::new(0), open: AtomicU32::new(0) }
    }

    #[inline]
    fn of(&self, scope: Scope) -> &AtomicU64 {
        match scope {
            Scope::Structure => &self.structure,
            Scope::Permission => &self.permission,
        }
    }
}

/// The epochs of all subtrees.
pub(crate) struct Subtrees {
    now: AtomicU64,
    cells: Box<[Cell]>,
    changers: Mutex<()>,
}

impl Subtrees {
    /// So many cells, a power of two.
    pub fn new(cells: usize) -> Self {
        let cells = (0..cells.next_power_of_two()).map(|_| Cell::new()).collect();
        Self { now: AtomicU64::new(1), cells, changers: Mutex::new(()) }
    }

    /// The epoch of the last change that is noted in full. To judge something found in the cache, load it after
    /// finding that: what is kept late for a change that ended meanwhile is then seen to be old.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }

    /// Whether no change of this scope concerns a path since `stamp`, given the hashes of all its prefixes.
    #[inline]
    pub fn is_current(&self, scope: Scope, stamp: u64, mut prefixes: impl Iterator<Item = u64>) -> bool {
        prefixes.all(|hash| self.cell(hash).of(scope).load(Ordering::Acquire) <= stamp)
    }

    /// Whether a change that concerns a path is under way.
    pub fn is_open(&self, mut prefixes: impl Iterator<Item = u64>) -> bool {
        prefixes.any(|hash| self.cell(hash).open.load(Ordering::Acquire) != 0)
    }

    /// Notes the beginning of changes below these paths. [`end`](Self::end) has to follow.
    pub fn begin(&self, changes: &[(Scope, u64)]) {
        for &(_, hash) in changes {
            self.cell(hash).open.fetch_add(1, Ordering::AcqRel);
        }
        self.advance(changes);
    }

    /// Notes their end.
    pub fn end(&self, changes: &[(Scope, u64)]) {
        self.advance(changes);
        for &(_, hash) in changes {
            self.cell(hash).open.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The cells first, so that whoever sees the epoch sees all of its changes.
    fn advance(&self, changes: &[(Scope, u64)]) {
        if changes.is_empty() {
            return;
        }
        let _one_at_a_time = self.changers.lock();
        let epoch = self.now.load(Ordering::Relaxed) + 1;
        for &(scope, hash) in changes {
            self.cell(hash).of(scope).store(epoch, Ordering::Release);
        }
        self.now.store(epoch, Ordering::Release);
    }

    #[inline]
    fn cell(&self, hash: u64) -> &Cell {
        &self.cells[hash as usize & (self.cells.len() - 1)]
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.cells)
    }
}
