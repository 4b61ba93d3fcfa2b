//! The cache by itself.

use super::*;
use crate::Attributes;

fn cache() -> PathCache<Attributes> {
    PathCache::new(Options { capacity: 1000, ..Options::default() })
}

fn directory(inode: u64) -> Attributes {
    Attributes::new(inode, Kind::Directory, 0o755, 0, 0)
}

fn file(inode: u64, links: u32) -> Attributes {
    Attributes { links, ..Attributes::new(inode, Kind::File, 0o644, 0, 0) }
}

fn user(cache: &PathCache<Attributes>, uid: u32) -> Principal {
    cache.principal(&Credentials::new(uid, uid, &[]))
}

fn insert(cache: &PathCache<Attributes>, path: &str, entry: Option<&Attributes>, principal: &Principal) -> bool {
    cache.insert(cache.ticket(path.as_bytes()), path.as_bytes(), entry, principal)
}

#[test]
fn finds_the_deepest_prefix() {
    let (cache, entry) = (cache(), directory(5));
    let user = user(&cache, 1);
    assert_eq!(cache.lookup(b"/a/b/c/d", &user), Lookup::Miss);
    assert!(insert(&cache, "/a/b", Some(&entry), &user));
    assert_eq!(cache.lookup(b"/a/b/c/d", &user), Lookup::Prefix { length: 4, entry: Some(entry.clone()) });
    assert_eq!(cache.lookup(b"/a/b", &user), Lookup::Hit(entry.clone()));
    assert_eq!(cache.lookup(b"/a/bc", &user), Lookup::Miss, "a prefix ends at a slash");
    assert!(insert(&cache, "/a/b/c", None, &user));
    assert_eq!(cache.lookup(b"/a/b/c/d", &user), Lookup::Prefix { length: 6, entry: None });
    assert_eq!(cache.lookup(b"/a/b/c", &user), Lookup::Negative);
    assert!(insert(&cache, "/", Some(&entry), &user));
    assert_eq!(cache.lookup(b"/x", &user), Lookup::Prefix { length: 1, entry: Some(entry) });
}

#[test]
fn a_path_that_is_not_canonical_is_neither_kept_nor_found_nor_changed() {
    let cache = cache();
    let user = user(&cache, 1);
    for path in ["", "a", "/a/", "/a/../b", "//a"] {
        assert!(!insert(&cache, path, Some(&file(1, 1)), &user), "{path}");
        assert_eq!(cache.lookup(path.as_bytes(), &user), Lookup::Miss);
        assert_eq!(cache.change(&[Change::Subtree(path.as_bytes())], || ()), Err(crate::Errno::Invalid));
    }
    assert!(cache.is_empty());
}

#[test]
fn a_refused_change_has_not_begun() {
    let cache = cache();
    let user = user(&cache, 1);
    let linked = file(9, 2);
    let changes = [Change::Subtree(b"/a"), Change::Permission(b"/a"), Change::Inode(9), Change::Entry(b"a")];
    assert_eq!(cache.change(&changes, || ()), Err(crate::Errno::Invalid));
    assert!(insert(&cache, "/a/b", Some(&linked), &user), "nothing of it is left open");
    assert_eq!(cache.lookup(b"/a/b", &user), Lookup::Hit(linked));
}

#[test]
fn a_shared_change_outlives_its_cache() {
    let shared = Arc::new(cache());
    let user = user(&shared, 1);
    insert(&shared, "/a/b", Some(&file(1, 1)), &user);
    let open = shared.begin_shared_change(&[Change::Subtree(b"/a")]).unwrap();
    assert_eq!(shared.lookup(b"/a/b", &user), Lookup::Miss);
    assert!(!insert(&shared, "/a/b", Some(&file(1, 1)), &user));
    drop(shared);
    drop(open);
}

#[test]
fn grants_are_for_whom_they_were_given() {
    let cache = cache();
    let someone = user(&cache, 1);
    insert(&cache, "/a", Some(&file(1, 1)), &someone);
    let same = cache.principal(&Credentials::new(1, 1, &[1]));
    assert!(matches!(cache.lookup(b"/a", &same), Lookup::Hit(_)), "equal credentials are one principal");
    let others = [
        Credentials::new(2, 1, &[]),
        Credentials::new(1, 2, &[]),
        Credentials::new(1, 1, &[7]),
        Credentials::new(1, 1, &[]).with_capabilities(crate::Capabilities { fowner: true, ..Default::default() }),
    ];
    for other in others {
        assert_eq!(cache.lookup(b"/a", &cache.principal(&other)), Lookup::Miss, "{other:?}");
    }
    let elsewhere = self::cache();
    assert_eq!(cache.lookup(b"/a", &user(&elsewhere, 1)), Lookup::Miss, "a principal of another cache");
    assert!(!elsewhere.principals.read().known.is_empty());
}

#[test]
fn too_many_credentials_are_forgotten_and_no_number_is_used_twice() {
    let cache = cache();
    let first = user(&cache, 0);
    let numbers: std::collections::HashSet<u32> =
        (1..=PRINCIPALS_MAX as u32 + 5).map(|uid| user(&cache, uid).id).collect();
    assert_eq!(numbers.len(), PRINCIPALS_MAX + 5);
    assert!(cache.principals.read().known.len() <= PRINCIPALS_MAX);
    assert!(!numbers.contains(&first.id));
    assert_ne!(user(&cache, 0).id, first.id);
    let mut used_up = Principals { last: u32::MAX, ..Principals::default() };
    assert_eq!(used_up.number(&Credentials::root()).1, 0);
}

#[test]
fn a_subtree_ends_with_its_epoch_and_its_neighbours_stay() {
    let cache = cache();
    let user = user(&cache, 1);
    for path in ["/a", "/a/b", "/a/b/c", "/ab", "/b"] {
        insert(&cache, path, Some(&directory(1)), &user);
    }
    cache.change(&[Change::Subtree(b"/a/b")], || ()).unwrap();
    assert_eq!(cache.lookup(b"/a/b/c", &user), Lookup::Prefix { length: 2, entry: Some(directory(1)) });
    assert!(matches!(cache.lookup(b"/ab", &user), Lookup::Hit(_)));
    cache.change(&[Change::Subtree(b"/")], || ()).unwrap();
    assert_eq!(cache.lookup(b"/ab", &user), Lookup::Miss);
    assert!(insert(&cache, "/ab", Some(&directory(1)), &user));
    assert!(matches!(cache.lookup(b"/ab", &user), Lookup::Hit(_)));
}

#[test]
fn a_change_of_permission_ends_grants_below_and_keeps_entries() {
    let cache = cache();
    let user = user(&cache, 1);
    for path in ["/a", "/a/b", "/a/b/c"] {
        insert(&cache, path, Some(&directory(1)), &user);
    }
    cache.change(&[Change::Permission(b"/a")], || ()).unwrap();
    assert_eq!(cache.lookup(b"/a/b/c", &user), Lookup::Miss);
    assert_eq!(cache.lookup(b"/a", &user), Lookup::Miss, "its own attributes are new too");
    let hashes = cache.hashes(b"/a/b/c");
    let place = HashedPath { path: b"/a/b/c", hashes: &hashes };
    let guard = crossbeam_epoch::pin();
    assert_eq!(cache.peek(&place, &mut 0, &guard), Some(Some(directory(1))));
    cache.grant(&place, &user, cache.epoch(), &guard);
    assert!(matches!(cache.lookup(b"/a/b/c", &user), Lookup::Hit(_)));
    assert_eq!(cache.lookup(b"/a/b", &user), Lookup::Miss);
}

#[test]
fn what_was_looked_up_before_or_during_a_change_is_not_kept() {
    let cache = cache();
    let user = user(&cache, 1);
    let changes = [Change::Entry(b"/a/f"), Change::Subtree(b"/a"), Change::Subtree(b"/")];
    for change in changes {
        let before = cache.ticket(b"/a/f");
        let open = cache.begin_change(&[change]).unwrap();
        let during = cache.ticket(b"/a/f");
        assert!(!cache.insert(before, b"/a/f", Some(&file(1, 1)), &user), "{change:?}");
        assert!(!cache.insert(during, b"/a/f", Some(&file(1, 1)), &user));
        drop(open);
        assert!(!cache.insert(before, b"/a/f", Some(&file(1, 1)), &user));
        assert!(!cache.insert(during, b"/a/f", Some(&file(1, 1)), &user));
        assert!(insert(&cache, "/a/f", Some(&file(1, 1)), &user));
    }
    let before = cache.ticket(b"/a/f");
    cache.change(&[Change::Permission(b"/a")], || ()).unwrap();
    cache.insert(before, b"/a/f", Some(&file(2, 1)), &user);
    assert_eq!(cache.lookup(b"/a/f", &user), Lookup::Miss, "the grant is from before the change");
}

#[test]
fn a_panic_ends_a_change() {
    let cache = cache();
    let user = user(&cache, 1);
    let act = || cache.change(&[Change::Subtree(b"/a"), Change::Inode(3)], || panic!("the store is gone"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).is_err());
    assert!(insert(&cache, "/a/f", Some(&file(3, 2)), &user));
    assert_eq!(cache.lookup(b"/a/f", &user), Lookup::Hit(file(3, 2)));
}

#[test]
fn an_object_with_several_names_changes_under_all_of_them() {
    let cache = cache();
    let user = user(&cache, 1);
    insert(&cache, "/a", Some(&file(9, 2)), &user);
    insert(&cache, "/b", Some(&file(9, 2)), &user);
    assert_eq!(cache.len(), 3, "two names and one object");
    cache.change(&[Change::Inode(9)], || ()).unwrap();
    assert_eq!(cache.lookup(b"/a", &user), Lookup::Miss);
    assert_eq!(cache.lookup(b"/b", &user), Lookup::Miss);
    let ticket = cache.ticket(b"/a");
    cache.change(&[Change::Inode(8)], || ()).unwrap();
    assert!(!cache.insert(ticket, b"/a", Some(&file(9, 2)), &user), "an object changed since");
    insert(&cache, "/b", Some(&Attributes { mode: 0, ..file(9, 2) }), &user);
    assert_eq!(cache.lookup(b"/a", &user), Lookup::Hit(Attributes { mode: 0, ..file(9, 2) }));
}

#[test]
fn many_grants_replace_each_other_and_never_grow_beyond_the_limit() {
    let cache = cache();
    let users: Vec<Principal> = (0..20).map(|uid| user(&cache, uid)).collect();
    for user in &users {
        insert(&cache, "/a", Some(&file(1, 1)), user);
        assert!(matches!(cache.lookup(b"/a", user), Lookup::Hit(_)));
    }
    let granted = users.iter().filter(|user| matches!(cache.lookup(b"/a", user), Lookup::Hit(_))).count();
    assert_eq!(granted, 5);
}
