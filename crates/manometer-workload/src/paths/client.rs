//! One thread: an operation on a path, then the next.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use manometer_trace::synthesis::paths::{PathAccesses, PathTree};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, fstat, openat, statat};

use super::open_tree::OpenTree;
use super::plan::PathsPlan;
use super::tree::PathBuffer;
use crate::file_threads::file_io::{IO_BYTES, read_to_end};
use crate::file_threads::{FileOperation, FilesError, ThreadContext, ThreadEnd};

/// The names that one call of the kernel returns, as `readdir` of the C library has it.
const LIST_BYTES: usize = 32 << 10;

/// One client thread.
pub(super) struct PathClient<'a> {
    shared: &'a ThreadContext<'a>,
    tree: &'a OpenTree,
    index: u32,
    random: Xoshiro256PlusPlus,
    /// The settings in force, and their version.
    plan: PathsPlan,
    version: u64,
    accesses: PathAccesses,
    path: PathBuffer,
    buffers: Buffers,
}

/// Where what is read goes.
struct Buffers {
    content: Vec<u8>,
    names: Vec<MaybeUninit<u8>>,
}

impl<'a> PathClient<'a> {
    pub(super) fn new(shared: &'a ThreadContext<'a>, tree: &'a OpenTree, index: u32) -> Self {
        let (version, plan) = tree.plan();
        Self {
            shared,
            tree,
            index,
            random: Xoshiro256PlusPlus::seed_from_u64(shared.seed.wrapping_mul(31).wrapping_add(u64::from(index))),
            accesses: PathAccesses::new(&plan.model, shared.seed),
            path: PathBuffer::new(&tree.root_path, PathTree::new(&plan.model)),
            buffers: Buffers { content: vec![0; IO_BYTES], names: vec![MaybeUninit::uninit(); LIST_BYTES] },
            plan,
            version,
        }
    }

    /// Works until it is stopped.
    pub(super) fn run(&mut self) -> Result<(), ThreadEnd> {
        while self.shared.gate.await_start(self.index) {
            self.shared.await_operation()?;
            if self.version != self.tree.version() {
                self.follow_change();
            }
            self.operate()?;
        }
        Ok(())
    }

    fn follow_change(&mut self) {
        (self.version, self.plan) = self.tree.plan();
        self.accesses = PathAccesses::new(&self.plan.model, self.shared.seed);
    }

    /// One operation on the next file, or on its directory.
    fn operate(&mut self) -> Result<(), ThreadEnd> {
        let (file, operation) = (self.accesses.next(&mut self.random), self.plan.mix.at(self.random.random()));
        match operation {
            FileOperation::List => self.path.set_directory_of(file),
            _ => self.path.set_file(file),
        }
        let (root, path, buffers) = (self.tree.root.as_fd(), &self.path, &mut self.buffers);
        let done = self
            .shared
            .attempt(self.index, (operation, path.whole()), || act(operation, root, path.relative(), buffers))?;
        // Closing is not timed.
        done.map_or_else(|| self.check_root(operation), |_| Ok(()))
    }

    /// Ends the run where not one file but the whole tree is gone.
    fn check_root(&self, operation: FileOperation) -> Result<(), ThreadEnd> {
        let gone = fstat(&self.tree.root).is_ok_and(|root| root.st_nlink == 0);
        if !gone {
            return Ok(());
        }
        Err(FilesError::of(operation.name(), self.path.whole(), io::ErrorKind::NotFound.into()).into())
    }
}

/// Does `operation` on `path` below `root`. Returns what is still open, and the bytes of file content that were read.
fn act(
    operation: FileOperation,
    root: BorrowedFd<'_>,
    path: &[u8],
    buffers: &mut Buffers,
) -> io::Result<(Option<OwnedFd>, u64)> {
    let open = |flags| openat(root, path, OFlags::RDONLY | OFlags::CLOEXEC | flags, Mode::empty());
    match operation {
        FileOperation::Open => Ok((Some(open(OFlags::empty())?), 0)),
        FileOperation::Read => {
            let file = File::from(open(OFlags::empty())?);
            let bytes = read_to_end(&file, &mut buffers.content)?;
            Ok((Some(file.into()), bytes))
        }
        FileOperation::List => {
            let directory = open(OFlags::DIRECTORY)?;
            let mut entries = RawDir::new(&directory, &mut buffers.names);
            while let Some(entry) = entries.next() {
                entry?;
            }
            Ok((Some(directory), 0))
        }
        _ => statat(root, path, AtFlags::SYMLINK_NOFOLLOW).map(|_| (None, 0)).map_err(io::Error::from),
    }
}
