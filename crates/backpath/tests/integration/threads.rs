//! Questions while others change the file system. Every answer is one that the reference gives at some moment between
//! question and answer; above all, nobody is let in who was kept out all that time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use backpath::{Errno, Operation, Options};

use crate::support::{Scene, user};

const ROUNDS: u64 = 3_000;

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
        is_over.store(true, Ordering::Release);
    });
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
