//! Links, mounts and dots, and what they cost.

use backpath::{Errno, LINKS_MAX, Operation, Options, Query, Resolver};

use crate::support::{Scene, user};

/// A deep directory with a file, and links to it.
fn scene() -> Scene {
    Scene::new(Options::default()).with(&[
        Operation::MakeDirectory(b"/a", 0o755),
        Operation::MakeDirectory(b"/a/b", 0o755),
        Operation::MakeDirectory(b"/a/b/c", 0o755),
        Operation::Create(b"/a/b/c/file", 0o644),
        Operation::Symlink(b"/a/b", b"/short"),
        Operation::Symlink(b"../../short/c", b"/a/b/round"),
        Operation::Symlink(b"file", b"/a/b/c/same"),
    ])
}

#[test]
fn a_warm_path_costs_one_probe_at_any_depth() {
    let scene = scene();
    for path in ["/", "/a", "/a/b", "/a/b/c", "/a/b/c/file"] {
        scene.resolve(path, &user(1)).0.unwrap();
        let (_, counts) = scene.resolve(path, &user(1));
        assert_eq!((counts.probes, counts.lookups), (1, 0), "{path}");
    }
}

#[test]
fn a_sibling_of_a_warm_path_costs_one_look_up() {
    let scene = scene();
    scene.resolve("/a/b/c/file", &user(1)).0.unwrap();
    scene.act(&Operation::Create(b"/a/b/c/other", 0o600)).unwrap();
    let (_, counts) = scene.resolve("/a/b/c/other", &user(1));
    assert_eq!(counts.lookups, 1);
}

#[test]
fn an_alias_costs_a_probe_for_itself_each_link_and_the_end() {
    let scene = scene();
    scene.resolve("/a/b/round/file", &user(1)).0.unwrap();
    let (answer, counts) = scene.resolve("/a/b/round/file", &user(1));
    assert_eq!(answer.unwrap().1, b"/a/b/c/file");
    assert_eq!((counts.probes, counts.lookups), (4, 0));
}

#[test]
fn an_alias_ends_with_its_link_its_end_and_its_grants() {
    let prepared = || {
        let scene = scene();
        scene.resolve("/short/c/file", &user(1)).0.unwrap();
        scene
    };
    let other = prepared();
    other.act(&Operation::Unlink(b"/short")).unwrap();
    assert_eq!(other.resolve("/short/c/file", &user(1)).0, Err(Errno::NotFound));
    other.act(&Operation::Symlink(b"/a", b"/short")).unwrap();
    assert_eq!(other.resolve("/short/c/file", &user(1)).0, Err(Errno::NotFound));
    other.act(&Operation::Unlink(b"/short")).unwrap();
    other.act(&Operation::MakeDirectory(b"/short", 0o755)).unwrap();
    assert_eq!(other.resolve("/short/c/file", &user(1)).0, Err(Errno::NotFound));

    let closed = prepared();
    closed.act(&Operation::ChangeMode(b"/a", 0o700)).unwrap();
    assert_eq!(closed.resolve("/short/c/file", &user(1)).0, Err(Errno::AccessDenied));

    let moved = prepared();
    moved.act(&Operation::Rename(b"/a/b/c", b"/c")).unwrap();
    assert_eq!(moved.resolve("/short/c/file", &user(1)).0, Err(Errno::NotFound));
    moved.resolve("/c/file", &user(1)).0.unwrap();
}

#[test]
fn a_link_at_the_end_is_followed_only_where_it_is_asked_for() {
    let scene = scene();
    for _ in 0..2 {
        let (followed, _) = scene.backwards(b"/short/c/same", &user(1), true);
        assert_eq!(followed.unwrap().1, b"/a/b/c/file");
        let (itself, _) = scene.backwards(b"/short/c/same", &user(1), false);
        assert_eq!(itself.unwrap().1, b"/a/b/c/same");
    }
}

#[test]
fn links_in_circles_and_long_chains_end() {
    let scene = Scene::new(Options::default());
    scene.act(&Operation::Symlink(b"two", b"/one")).unwrap();
    scene.act(&Operation::Symlink(b"one", b"/two")).unwrap();
    assert_eq!(scene.resolve("/one/x", &user(1)).0, Err(Errno::TooManyLinks));
    scene.act(&Operation::Create(b"/link0", 0o644)).unwrap();
    for number in 1..=LINKS_MAX + 1 {
        let (target, path) = (format!("link{}", number - 1), format!("/link{number}"));
        scene.act(&Operation::Symlink(target.as_bytes(), path.as_bytes())).unwrap();
    }
    for _ in 0..2 {
        assert!(scene.resolve(&format!("/link{LINKS_MAX}"), &user(1)).0.is_ok());
        assert_eq!(scene.resolve(&format!("/link{}", LINKS_MAX + 1), &user(1)).0, Err(Errno::TooManyLinks));
    }
}

#[test]
fn links_may_make_a_path_longer_than_a_path_can_be() {
    let scene = Scene::new(Options::default());
    let name = "d".repeat(250);
    let mut path = String::new();
    for _ in 0..15 {
        path = format!("{path}/{name}");
        scene.act(&Operation::MakeDirectory(path.as_bytes(), 0o755)).unwrap();
    }
    scene.act(&Operation::Symlink(path.as_bytes(), b"/l")).unwrap();
    scene.act(&Operation::Rename(b"/l", b"/m")).unwrap();
    let mut deeper = "/m".to_owned();
    for _ in 0..15 {
        deeper = format!("{deeper}/{name}");
        scene.act(&Operation::MakeDirectory(deeper.as_bytes(), 0o755)).unwrap();
    }
    for _ in 0..2 {
        let (answer, _) = scene.resolve(&deeper, &user(1));
        assert!(answer.unwrap().1.len() > backpath::PATH_MAX);
    }
}

#[test]
fn dots_are_resolved_behind_links_and_search_what_they_leave() {
    let scene = scene();
    scene.act(&Operation::MakeDirectory(b"/a/b/locked", 0o700)).unwrap();
    for _ in 0..2 {
        assert_eq!(scene.resolve("/short/../b/c", &user(1)).0.unwrap().1, b"/a/b/c", "not /b/c");
        assert_eq!(scene.resolve("/a/b/locked/../c", &user(1)).0, Err(Errno::AccessDenied));
        assert_eq!(scene.resolve("/a/b/locked/.", &user(1)).0, Err(Errno::AccessDenied));
        assert!(scene.resolve("/a/b/locked/", &user(1)).0.is_ok());
        assert_eq!(scene.resolve("/a/b/c/file/..", &user(1)).0, Err(Errno::NotADirectory));
        assert_eq!(scene.resolve("/a/missing/..", &user(1)).0, Err(Errno::NotFound));
        assert_eq!(scene.resolve("/a/b/c/file/", &user(1)).0, Err(Errno::NotADirectory));
        assert_eq!(scene.resolve("/../../a", &user(1)).0.unwrap().1, b"/a");
    }
}

#[test]
fn a_mount_hides_what_was_there_and_gives_it_back() {
    let scene = scene();
    scene.resolve("/a/b/c/file", &user(1)).0.unwrap();
    scene.files.mount(b"/a/b", 0o755, &scene.cache).unwrap();
    assert_eq!(scene.resolve("/a/b/c/file", &user(1)).0, Err(Errno::NotFound));
    scene.act(&Operation::Create(b"/a/b/new", 0o644)).unwrap();
    scene.resolve("/short/new", &user(1)).0.unwrap();
    assert_eq!(scene.resolve("/a/b/../b/new", &user(1)).0.unwrap().1, b"/a/b/new");
    assert_eq!(scene.act(&Operation::Rename(b"/a/b/new", b"/new")), Err(Errno::CrossDevice));
    assert_eq!(scene.act(&Operation::RemoveDirectory(b"/a/b")), Err(Errno::Busy));
    scene.files.unmount(b"/a/b", &scene.cache).unwrap();
    assert_eq!(scene.resolve("/a/b/new", &user(1)).0, Err(Errno::NotFound));
    scene.resolve("/a/b/c/file", &user(1)).0.unwrap();
}

#[test]
fn an_object_with_two_names_changes_under_both() {
    let scene = scene();
    scene.resolve("/a/b/c/file", &user(1)).0.unwrap();
    scene.act(&Operation::Link(b"/a/b/c/file", b"/second")).unwrap();
    assert_eq!(scene.resolve("/a/b/c/file", &user(1)).0.unwrap().0.links, 2);
    scene.resolve("/second", &user(1)).0.unwrap();
    scene.act(&Operation::ChangeMode(b"/second", 0o600)).unwrap();
    assert_eq!(scene.resolve("/a/b/c/file", &user(1)).0.unwrap().0.mode, 0o600);
    scene.act(&Operation::Unlink(b"/a/b/c/file")).unwrap();
    assert_eq!(scene.resolve("/second", &user(1)).0.unwrap().0.links, 1);
}

#[test]
fn a_relative_path_begins_where_it_is_said_to() {
    let scene = scene();
    let principal = scene.cache.principal(&user(1));
    let query = Query::new(b"../b/c/file").relative_to(b"/a/b");
    let found = Resolver::new(&scene.cache).resolve(&query, &principal, &scene.files, &mut Default::default());
    assert_eq!(found.unwrap().path.as_ref(), b"/a/b/c/file");
    let cached = Resolver::new(&scene.cache).resolve_cached(&query, &principal, &mut Default::default()).unwrap();
    assert_eq!(cached.unwrap().path.as_ref(), b"/a/b/c/file");
    let unknown = Resolver::new(&scene.cache).resolve_cached(&Query::new(b"/x"), &principal, &mut Default::default());
    assert!(unknown.unwrap().is_none(), "only the store knows");
}
