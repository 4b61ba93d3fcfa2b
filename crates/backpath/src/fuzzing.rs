//! The entry points of the fuzz targets. None of them may panic, hang, or allocate without bound.

use std::convert::Infallible;
use std::sync::Arc;

use crate::attributes::{Access, Acl, AclEntry, Attributes, Tag};
use crate::cache::{Options, PathCache};
use crate::credentials::{Capabilities, Credentials};
use crate::errno::ResolveError;
use crate::forward::ForwardResolver;
use crate::memory::MemoryFileSystem;
use crate::operation::Operation;
use crate::resolver::{Counts, Query, Resolver};

/// A fuzz target: its name, and what runs it on an input.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// The fuzz targets by name.
pub const TARGETS: [FuzzTarget; 2] = [("backpath_paths", paths), ("backpath_operations", operations)];

/// The most steps of a sequence: each asks about everything that was ever named.
const STEPS_MAX: usize = 64;
/// The most paths that are asked about after each step.
const QUESTIONS_MAX: usize = 24;

/// Paths as bytes, one a line, on a small tree: the answer from the end is the answer from the front.
fn paths(bytes: &[u8]) {
    let scene = Scene::new(Options::default());
    for path in bytes.split(|&byte| byte == b'\n').take(QUESTIONS_MAX) {
        scene.ask(path);
    }
}

/// Operations of several users, and questions about every path that they named after each.
fn operations(bytes: &[u8]) {
    let mut input = Input(bytes);
    let options = match input.byte() % 4 {
        0 => Options { capacity: 8, grants: 1, epoch_cells: Some(1), seed: 1 },
        1 => Options { capacity: 64, grants: 2, epoch_cells: Some(4), seed: 2 },
        _ => Options::default(),
    };
    let scene = Scene::new(options);
    let mut named: Vec<Vec<u8>> = Vec::new();
    for _ in 0..STEPS_MAX {
        if input.0.is_empty() {
            return;
        }
        let (one, two) = (input.path(), input.path());
        scene.act(&mut input, &one, &two);
        named.extend([one, two]);
        let first = named.len().saturating_sub(QUESTIONS_MAX);
        named[first..].iter().for_each(|path| scene.ask(path));
    }
}

/// What is left of an input; at its end there are zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn number(&mut self) -> u32 {
        u32::from(self.byte())
    }

    /// Few names, so that they meet; now and then what a user should not write.
    fn path(&mut self) -> Vec<u8> {
        const NAMES: [&[u8]; 12] = [b"a", b"b", b"c", b"d", b"a", b"b", b"link", b"link", b"..", b".", b"", b"a\0b"];
        let components = self.byte();
        let mut path = if components & 0x80 != 0 { Vec::new() } else { b"/".to_vec() };
        for place in 0..components % 6 {
            if place > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(NAMES[usize::from(self.byte()) % NAMES.len()]);
        }
        path
    }

    fn credentials(&mut self) -> Credentials {
        user(self.byte())
    }

    fn list(&mut self) -> Option<Arc<Acl>> {
        let bits = self.number();
        let entry = |tag, shift: u32| AclEntry { tag, access: Access::from_bits((bits >> shift) as u16) };
        let entries = [
            entry(Tag::User(1 + bits % 3), 0),
            entry(Tag::OwningGroup, 1),
            entry(Tag::Group(1 + bits % 3), 2),
            entry(Tag::Mask, 3),
            entry(Tag::Other, 4),
        ];
        (bits != 0).then(|| Arc::new(Acl::new(&entries)))
    }
}

/// One of those who ask: root, three users, and one who may search everything.
fn user(number: u8) -> Credentials {
    match number % 5 {
        0 => Credentials::root(),
        4 => Credentials::new(9, 9, &[])
            .with_capabilities(Capabilities { dac_read_search: true, ..Capabilities::default() }),
        number => Credentials::new(number.into(), number.into(), &[u32::from(number) % 3 + 1]),
    }
}

/// A file system with its cache.
struct Scene {
    files: MemoryFileSystem,
    cache: PathCache<Attributes>,
}

impl Scene {
    /// A tree with a closed directory, links into it and in a circle, and a mount.
    fn new(options: Options) -> Self {
        let scene = Self { files: MemoryFileSystem::new(), cache: PathCache::new(options) };
        let tree = [
            Operation::ChangeMode(b"/", 0o777),
            Operation::MakeDirectory(b"/a", 0o755),
            Operation::MakeDirectory(b"/a/b", 0o711),
            Operation::MakeDirectory(b"/a/b/c", 0o700),
            Operation::Create(b"/a/b/c/d", 0o644),
            Operation::MakeDirectory(b"/b", 0o1777),
            Operation::Symlink(b"../a/b", b"/b/link"),
            Operation::Symlink(b"/link", b"/link"),
        ];
        for operation in &tree {
            let _ = scene.files.act(operation, &Credentials::root(), &scene.cache);
        }
        scene
    }

    /// What is refused changes nothing, which is as good a step as any.
    fn act(&self, input: &mut Input<'_>, one: &[u8], two: &[u8]) {
        let (number, mode) = (input.byte(), u16::from_le_bytes([input.byte(), input.byte()]) & 0o1777);
        let operation = match number % 12 {
            0 => Operation::Create(one, mode),
            1 | 2 => Operation::MakeDirectory(one, mode),
            3 => Operation::Symlink(two, one),
            4 => Operation::Link(one, two),
            5 => Operation::Unlink(one),
            6 => Operation::RemoveDirectory(one),
            7 => Operation::Rename(one, two),
            8 => Operation::ChangeMode(one, mode),
            9 => Operation::ChangeOwner(one, input.number() % 4, input.number() % 4),
            10 => Operation::ChangeAcl(one, input.list()),
            _ => {
                let mounts = number & 0x80 != 0;
                let _ = if mounts {
                    self.files.mount(one, mode, &self.cache)
                } else {
                    self.files.unmount(one, &self.cache)
                };
                return;
            }
        };
        let _ = self.files.act(&operation, &input.credentials(), &self.cache);
    }

    /// The answers for everybody, from a cache that may not know the path and from one that does.
    fn ask(&self, path: &[u8]) {
        for credentials in (0..5).map(user) {
            let principal = self.cache.principal(&credentials);
            for follows in [true, false] {
                let query = if follows { Query::new(path) } else { Query::new(path).without_following() };
                let front = ForwardResolver::new(&self.files);
                let expected = front.resolve(path, &credentials, follows, &mut Counts::default());
                for _ in 0..2 {
                    let counts = &mut Counts::default();
                    let found = Resolver::new(&self.cache).resolve(&query, &principal, &self.files, counts);
                    let answer: Result<_, ResolveError<Infallible>> =
                        found.map(|found| (found.entry, found.path.into_owned()));
                    assert_eq!(answer, expected, "{} for {credentials:?}", path.escape_ascii());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use manometer_testing::repository_file;

    /// What fuzzers began with and have found.
    #[test]
    fn the_corpora_are_answered_alike_from_both_ends() {
        let corpora = repository_file("fuzz/corpus");
        for (name, target) in super::TARGETS {
            let files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().collect();
            assert!(!files.is_empty(), "the corpus of {name} is empty");
            for file in files {
                target(&fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}
