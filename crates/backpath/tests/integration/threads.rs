//! Questions while others change the file system. Every answer is one that the reference gives at some moment between
//! question and answer; above all, nobody is let in who was kept out all that time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use backpath::{Attributes, Counts, Errno, Operation, Options, Query, Resolver, Store};

use crate::support::{Scene, user};

const ROUNDS: u64 = 1_000;

/// A file below a gate, which one thread opens and closes by turns in the way given; the others may pass only
/// if it was open at some moment between question and answer.
fn gate(operations: &[Operation<'_>], open: &(impl Fn(&Scene) + Sync), close: &(impl Fn(&Scene) + Sync), path: &str) {
    let options = Options { capacity: 64, ..Options::default() };
    let scene = Scene::new(options).with(operations);
    // Even while the gate is closed for certain, odd while it is open or moves.
    let turn = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    close(&scene);
    std::thread::scope(|scope| {
        for uid in 1..4 {
            let (scene, turn, is_over) = (&scene, &turn, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    let before = turn.load(Ordering::SeqCst);
                    let (answer, _) = scene.backwards(path.as_bytes(), &user(uid), true);
                    let after = turn.load(Ordering::SeqCst);
                    let was_closed = before == after && before % 2 == 0;
                    match answer {
                        Ok(_) => assert!(!was_closed, "{path}: let in while it was closed"),
                        Err(errno) => assert!(matches!(errno, Errno::AccessDenied | Errno::NotFound), "{errno}"),
                    }
                }
            });
        }
        let _over = Over(&is_over);
        for _ in 0..ROUNDS {
            turn.fetch_add(1, Ordering::SeqCst);
            open(&scene);
            let (answer, _) = scene.backwards(path.as_bytes(), &user(9), true);
            assert!(answer.is_ok(), "{path}: kept out while it is open: {answer:?}");
            close(&scene);
            turn.fetch_add(1, Ordering::SeqCst);
            let (answer, _) = scene.backwards(path.as_bytes(), &user(9), true);
            assert!(answer.is_err(), "{path}: let in while it is closed");
        }
    });
}

/// Ends the others, also when an assertion fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A file system that changes between a look-up's answer and the next question.
struct Interfering<'a> {
    scene: &'a Scene,
    name: &'static [u8],
    change: &'a dyn Fn(&Scene),
    is_done: AtomicBool,
}

impl Store for Interfering<'_> {
    type Entry = Attributes;
    type Error = std::convert::Infallible;

    fn root(&self) -> Result<Attributes, Self::Error> {
        self.scene.files.root()
    }

    fn look_up(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Self::Error> {
        let answer = self.scene.files.look_up(directory, name);
        if name == self.name && !self.is_done.swap(true, Ordering::Relaxed) {
            (self.change)(self.scene);
        }
        answer
    }
}

/// What a walk finds in a directory that moved away while it was in it is not kept for the path that it had.
#[test]
fn a_walk_in_a_directory_that_moved_keeps_nothing() {
    let changes: [&dyn Fn(&Scene); 4] = [
        &|scene| scene.files.mount(b"/a/gate", 0o755, &scene.cache).unwrap(),
        &|scene| act(scene, &Operation::Rename(b"/a/gate", b"/a/moved")),
        &|scene| act(scene, &Operation::ChangeMode(b"/a/gate", 0o700)),
        &|scene| {
            act(scene, &Operation::Rename(b"/a/gate", b"/a/moved"));
            act(scene, &Operation::MakeDirectory(b"/a/gate", 0o755));
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for name in [b"a".as_slice(), b"gate", b"b", b"file"] {
            for path in ["/a/gate/b/file", "/link/file", "/a/gate/b/../b/file", "/a/gate/b/missing"] {
                let scene = Scene::new(Options::default()).with(&TREE);
                let store = Interfering { scene: &scene, name, change, is_done: AtomicBool::new(false) };
                let principal = scene.cache.principal(&user(1));
                // Whatever it says: it began before the change.
                let query = Query::new(path.as_bytes());
                let _ = Resolver::new(&scene.cache).resolve(&query, &principal, &store, &mut Counts::default());
                for path in ["/a/gate/b/file", "/a/gate/b", "/a/gate/b/missing", "/link/file", "/a/moved/b/file"] {
                    let (answer, _) = scene.backwards(path.as_bytes(), &user(1), true);
                    let expected = scene.forwards(path.as_bytes(), &user(1), true);
                    assert_eq!(answer, expected, "{path} after change {number} at {name:?}");
                }
            }
        }
    }
}

const TREE: [Operation<'static>; 5] = [
    Operation::MakeDirectory(b"/a", 0o755),
    Operation::MakeDirectory(b"/a/gate", 0o755),
    Operation::MakeDirectory(b"/a/gate/b", 0o755),
    Operation::Create(b"/a/gate/b/file", 0o644),
    Operation::Symlink(b"/a/gate/b", b"/link"),
];

fn act(scene: &Scene, operation: &Operation<'_>) {
    scene.act(operation).unwrap_or_else(|errno| panic!("{operation:?}: {errno}"));
}

#[test]
fn a_mode_that_forbids_keeps_out() {
    for path in ["/a/gate/b/file", "/link/file", "/a/gate/b/../b/file"] {
        let open = |scene: &Scene| act(scene, &Operation::ChangeMode(b"/a/gate", 0o755));
        gate(&TREE, &open, &|scene| act(scene, &Operation::ChangeMode(b"/a/gate", 0o700)), path);
    }
}

#[test]
fn a_renamed_tree_is_gone() {
    let open = |scene: &Scene| {
        // The first close has to have something to take away.
        let _ = scene.act(&Operation::Rename(b"/hidden", b"/a/gate"));
    };
    for path in ["/a/gate/b/file", "/link/file"] {
        gate(&TREE, &open, &|scene| act(scene, &Operation::Rename(b"/a/gate", b"/hidden")), path);
    }
}

#[test]
fn a_removed_file_is_gone() {
    let open = |scene: &Scene| act(scene, &Operation::Create(b"/a/gate/b/file", 0o644));
    gate(&TREE, &open, &|scene| act(scene, &Operation::Unlink(b"/a/gate/b/file")), "/a/gate/b/file");
}

#[test]
fn a_mount_hides() {
    let open = |scene: &Scene| scene.files.unmount(b"/a/gate", &scene.cache).unwrap();
    let close = |scene: &Scene| scene.files.mount(b"/a/gate", 0o755, &scene.cache).unwrap();
    gate(&TREE, &open, &close, "/a/gate/b/file");
}

#[test]
fn a_link_that_leads_elsewhere_leads_elsewhere() {
    let open = |scene: &Scene| {
        act(scene, &Operation::Unlink(b"/link"));
        act(scene, &Operation::Symlink(b"/a/gate/b", b"/link"));
    };
    let close = |scene: &Scene| {
        act(scene, &Operation::Unlink(b"/link"));
        act(scene, &Operation::Symlink(b"/a", b"/link"));
    };
    gate(&TREE, &open, &close, "/link/file");
}
