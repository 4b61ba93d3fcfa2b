//! Random operations and questions: the answer from the end is the answer from the front, in every case.

use std::sync::Arc;

use backpath::{Access, Acl, AclEntry, Capabilities, Credentials, Operation, Options, Tag};
use proptest::prelude::*;

use crate::support::Scene;

#[derive(Debug, Clone)]
enum Action {
    Create(String, u16),
    MakeDirectory(String, u16),
    Symlink(String, String),
    Link(String, String),
    Unlink(String),
    RemoveDirectory(String),
    Rename(String, String),
    ChangeMode(String, u16),
    ChangeOwner(String, u32, u32),
    ChangeAcl(String, Option<(u32, u32, u16, u16)>),
    Mount(String, u16),
    Unmount(String),
}

impl Action {
    fn run(&self, scene: &Scene, credentials: &Credentials) {
        let acl;
        let operation = match self {
            Self::Create(path, mode) => Operation::Create(path.as_bytes(), *mode),
            Self::MakeDirectory(path, mode) => Operation::MakeDirectory(path.as_bytes(), *mode),
            Self::Symlink(target, path) => Operation::Symlink(target.as_bytes(), path.as_bytes()),
            Self::Link(from, to) => Operation::Link(from.as_bytes(), to.as_bytes()),
            Self::Unlink(path) => Operation::Unlink(path.as_bytes()),
            Self::RemoveDirectory(path) => Operation::RemoveDirectory(path.as_bytes()),
            Self::Rename(from, to) => Operation::Rename(from.as_bytes(), to.as_bytes()),
            Self::ChangeMode(path, mode) => Operation::ChangeMode(path.as_bytes(), *mode),
            Self::ChangeOwner(path, uid, gid) => Operation::ChangeOwner(path.as_bytes(), *uid, *gid),
            Self::ChangeAcl(path, entries) => {
                acl = entries.map(list);
                Operation::ChangeAcl(path.as_bytes(), acl)
            }
            Self::Mount(path, mode) => {
                let _ = scene.files.mount(path.as_bytes(), *mode, &scene.cache);
                return;
            }
            Self::Unmount(path) => {
                let _ = scene.files.unmount(path.as_bytes(), &scene.cache);
                return;
            }
        };
        // What is refused changes nothing, which is as good an operation as any.
        let _ = scene.files.act(&operation, credentials, &scene.cache);
    }
}

fn list((uid, gid, bits, mask): (u32, u32, u16, u16)) -> Arc<Acl> {
    let entry = |tag, bits| AclEntry { tag, access: Access::from_bits(bits) };
    Arc::new(Acl::new(&[
        entry(Tag::User(uid), bits),
        entry(Tag::OwningGroup, bits >> 1),
        entry(Tag::Group(gid), bits),
        entry(Tag::Mask, mask),
        entry(Tag::Other, mask),
    ]))
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just("a"), 8 => Just("b"), 4 => Just("c"), 2 => Just("d")]
}

/// A path as operations take it: few names, so that they meet.
fn spot() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..5).prop_map(|names| format!("/{}", names.join("/")))
}

/// Any path a user may write.
fn question() -> impl Strategy<Value = String> {
    let long = "x".repeat(256);
    let component = prop_oneof![
        30 => name().prop_map(str::to_owned),
        3 => Just("..".to_owned()),
        2 => Just(".".to_owned()),
        1 => Just(String::new()),
        1 => Just(long),
    ];
    let components = prop::collection::vec(component, 0..7);
    (components, prop::bool::weighted(0.9), prop::bool::weighted(0.1)).prop_map(|(names, is_absolute, has_slash)| {
        format!("{}{}{}", if is_absolute { "/" } else { "" }, names.join("/"), if has_slash { "/" } else { "" })
    })
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => spot(),
        2 => name().prop_map(str::to_owned),
        2 => (name(), name()).prop_map(|(one, two)| format!("../{one}/{two}")),
        1 => (name(), name()).prop_map(|(one, two)| format!("{one}/../{two}")),
        1 => name().prop_map(|name| format!("{name}/")),
        1 => Just(".".to_owned()),
        1 => Just("/".to_owned()),
    ]
}

fn mode() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(0o755), 2 => Just(0o777), 1 => Just(0o1777), 1 => Just(0o700), 1 => Just(0o070), 1 => 0..0o1000_u16]
}

fn action() -> impl Strategy<Value = Action> {
    let id = || 0..4_u32;
    prop_oneof![
        5 => (spot(), mode()).prop_map(|(path, mode)| Action::Create(path, mode)),
        9 => (spot(), mode()).prop_map(|(path, mode)| Action::MakeDirectory(path, mode)),
        5 => (target(), spot()).prop_map(|(target, path)| Action::Symlink(target, path)),
        3 => (spot(), spot()).prop_map(|(from, to)| Action::Link(from, to)),
        3 => spot().prop_map(Action::Unlink),
        3 => spot().prop_map(Action::RemoveDirectory),
        5 => (spot(), spot()).prop_map(|(from, to)| Action::Rename(from, to)),
        4 => (spot(), mode()).prop_map(|(path, mode)| Action::ChangeMode(path, mode)),
        2 => (spot(), id(), id()).prop_map(|(path, uid, gid)| Action::ChangeOwner(path, uid, gid)),
        2 => (spot(), prop::option::of((id(), id(), 0..8_u16, 0..8_u16))).prop_map(|(path, list)| Action::ChangeAcl(path, list)),
        2 => (spot(), mode()).prop_map(|(path, mode)| Action::Mount(path, mode)),
        2 => spot().prop_map(Action::Unmount),
    ]
}

fn credentials() -> impl Strategy<Value = Credentials> {
    let user = (1..4_u32, 1..4_u32, prop::collection::vec(1..4_u32, 0..2));
    prop_oneof![
        2 => Just(Credentials::root()),
        6 => user.prop_map(|(uid, gid, groups)| Credentials::new(uid, gid, &groups)),
        1 => (1..4_u32).prop_map(|uid| {
            let capabilities = Capabilities { dac_read_search: true, ..Capabilities::default() };
            Credentials::new(uid, uid, &[]).with_capabilities(capabilities)
        }),
    ]
}

type Round = (Action, bool, Credentials, Vec<(String, Credentials, bool)>);

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let questions = prop::collection::vec((question(), credentials(), prop::bool::weighted(0.8)), 1..8);
    prop::collection::vec((action(), prop::bool::weighted(0.8), credentials(), questions), 1..60)
}

fn check(options: Options, rounds: &[Round]) {
    let scene = Scene::new(options);
    scene.act(&Operation::ChangeMode(b"/", 0o777)).unwrap();
    for (action, as_root, credentials, questions) in rounds {
        let actor = if *as_root { Credentials::root() } else { credentials.clone() };
        action.run(&scene, &actor);
        for (path, credentials, follows) in questions {
            let expected = scene.forwards(path.as_bytes(), credentials, *follows);
            // The first may fill the cache, the second is answered by it.
            for turn in ["cold", "warm"] {
                let (answer, _) = scene.backwards(path.as_bytes(), credentials, *follows);
                assert_eq!(answer, expected, "{path} ({turn}) for {credentials:?} after {action:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_answers_agree(rounds in rounds()) {
        check(Options::default(), &rounds);
    }

    /// Epochs share one cell, lists hold one grant, and the cache evicts all the time.
    #[test]
    fn the_answers_agree_in_a_cache_that_is_too_small(rounds in rounds()) {
        check(Options { capacity: 8, grants: 1, epoch_cells: Some(1), seed: 1 }, &rounds);
    }
}
