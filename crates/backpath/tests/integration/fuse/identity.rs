//! Numbers of the kernel stand for objects, whatever becomes of their names.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use backpath::Options;
use backpath::fuse::DirectoryFileSystem;
use rustix::fs::{AtFlags, Mode, OFlags, XattrFlags};

use super::{Has, NOBODY, can_mount, may, mode, with_mount};

/// On mounts of a directory with a cache and without; `check` has the mount and the directory.
pub(super) fn on_directories(caches: &[Option<Options>], check: impl Fn(&Path, &Path)) {
    if !can_mount() {
        return;
    }
    for cache in caches {
        let source = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
        mode(source.path(), 0o755);
        let files = DirectoryFileSystem::open(source.path(), *cache).unwrap();
        with_mount("identity", Has::Everything, files, |root, _| check(root, source.path()));
    }
}

pub(super) fn both() -> [Option<Options>; 2] {
    [Some(Options::default()), None]
}

#[test]
fn a_removed_file_that_is_held_is_no_other_file() {
    on_directories(&both(), |root, _| {
        fs::write(root.join("x"), "old").unwrap();
        let held = OpenOptions::new().read(true).custom_flags(OFlags::PATH.bits() as i32).open(root.join("x")).unwrap();
        fs::remove_file(root.join("x")).unwrap();
        fs::DirBuilder::new().mode(0o700).create(root.join("closed")).unwrap();
        for number in 0..3 {
            let path = root.join(format!("closed/{number}"));
            fs::write(&path, "secret").unwrap();
            mode(&path, 0o666);
        }
        let reopened = fs::read_to_string(format!("/proc/self/fd/{}", held.as_raw_fd()));
        assert!(reopened.is_err() || reopened.as_deref().unwrap() == "old", "{reopened:?}");
        assert_eq!(rustix::fs::statat(&held, "", AtFlags::EMPTY_PATH).unwrap().st_size, 3);
    });
}

#[test]
fn a_new_directory_is_not_a_removed_one_that_is_held() {
    on_directories(&both(), |root, _| {
        fs::create_dir(root.join("x")).unwrap();
        let held = File::open(root.join("x")).unwrap();
        fs::remove_dir(root.join("x")).unwrap();
        fs::create_dir(root.join("y")).unwrap();
        File::create(root.join("y/f")).unwrap();
        fs::create_dir(root.join("y/d")).unwrap();
        mode(&root.join("y"), 0o711);
        assert_eq!(fs::read_dir(format!("/proc/self/fd/{}", held.as_raw_fd())).unwrap().count(), 0);
        assert_eq!(held.metadata().unwrap().mode() & 0o777, 0o755);
        let opened = rustix::fs::openat(&held, "f", OFlags::RDONLY, Mode::empty());
        assert_eq!(opened.unwrap_err(), rustix::io::Errno::NOENT);
    });
}

#[test]
fn an_open_file_is_meant_though_the_source_has_another_one_there() {
    on_directories(&[None], |root, source| {
        fs::write(root.join("log"), "old log").unwrap();
        let log = OpenOptions::new().read(true).write(true).open(root.join("log")).unwrap();
        fs::rename(source.join("log"), source.join("log.1")).unwrap();
        fs::write(source.join("log"), "precious new log").unwrap();
        log.set_permissions(Permissions::from_mode(0o600)).unwrap();
        log.set_len(3).unwrap();
        log.write_all_at(b"O", 0).unwrap();
        assert_eq!(log.metadata().unwrap().len(), 3);
        assert_eq!(fs::read_to_string(source.join("log")).unwrap(), "precious new log");
        assert_eq!(fs::metadata(source.join("log")).unwrap().mode() & 0o777, 0o644);
        assert_eq!(fs::read_to_string(source.join("log.1")).unwrap(), "Old");

        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "1").unwrap();
        let directory = File::open(root.join("d")).unwrap();
        fs::rename(source.join("d"), source.join("e")).unwrap();
        fs::create_dir(source.join("d")).unwrap();
        fs::write(source.join("d/f"), "2").unwrap();
        rustix::fs::unlinkat(&directory, "f", AtFlags::empty()).unwrap();
        assert!(source.join("d/f").exists() && !source.join("e/f").exists());
    });
}

#[test]
fn what_the_source_puts_in_the_place_of_a_removed_object_is_another_one() {
    on_directories(&[None], |root, source| {
        // The file systems of Linux give a number again soon.
        for round in 0..20 {
            let (old, new) = (format!("old{round}"), format!("new{round}"));
            fs::write(source.join(&old), "old").unwrap();
            let held = OpenOptions::new().write(true).open(root.join(&old)).unwrap();
            let named =
                OpenOptions::new().read(true).custom_flags(OFlags::PATH.bits() as i32).open(root.join(&old)).unwrap();
            fs::remove_file(source.join(&old)).unwrap();
            drop(held);
            fs::write(source.join(&new), "new").unwrap();
            assert_eq!(fs::read_to_string(root.join(&new)).unwrap(), "new");
            let reopened = fs::read_to_string(format!("/proc/self/fd/{}", named.as_raw_fd()));
            assert!(reopened.is_err() || reopened.as_deref().unwrap() == "old", "{reopened:?}");
            fs::remove_file(root.join(&new)).unwrap();
            assert!(!source.join(&new).exists());
        }
    });
}

#[test]
fn the_last_of_several_names_may_go_while_the_object_is_held() {
    on_directories(&both(), |root, _| {
        fs::write(root.join("a"), "content").unwrap();
        fs::hard_link(root.join("a"), root.join("b")).unwrap();
        let held = OpenOptions::new().read(true).custom_flags(OFlags::PATH.bits() as i32).open(root.join("a")).unwrap();
        fs::remove_file(root.join("a")).unwrap();
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        assert_eq!(fs::read_to_string(&path).unwrap(), "content");
        fs::write(root.join("c"), "another").unwrap();
        fs::rename(root.join("c"), root.join("b")).unwrap();
        assert_eq!(fs::read_to_string(root.join("b")).unwrap(), "another");
        assert_eq!(rustix::fs::statat(&held, "", AtFlags::EMPTY_PATH).unwrap().st_size, 7);
    });
}

#[test]
fn an_open_file_shows_what_the_source_writes_into_it() {
    on_directories(&[None], |root, source| {
        fs::write(source.join("x"), "old").unwrap();
        let held = File::open(root.join("x")).unwrap();
        let read = || {
            let mut bytes = [0; 3];
            held.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        assert_eq!(&read(), b"old");
        // The kernel may keep for a second what it was told, and a change within a tick of its clock shows in no time.
        let shows = |_| {
            OpenOptions::new().write(true).open(source.join("x")).unwrap().write_all_at(b"new", 0).unwrap();
            &read() == b"new"
        };
        assert!((0..1_000_000).any(shows), "the kernel keeps what was read first");
    });
}

#[test]
fn what_the_source_renames_is_reached_by_its_new_name() {
    on_directories(&[None], |root, source| {
        fs::write(root.join("a"), "hi").unwrap();
        fs::rename(source.join("a"), source.join("b")).unwrap();
        assert_eq!(fs::read_to_string(root.join("b")).unwrap(), "hi");
        fs::create_dir_all(root.join("d/x")).unwrap();
        fs::rename(source.join("d"), source.join("e")).unwrap();
        fs::create_dir(root.join("e/x/y")).unwrap();
        assert!(source.join("e/x/y").exists());
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what the kernel keeps of a mount ends after a second of its own clock")]
fn a_file_that_is_written_after_it_moved_shows_its_size() {
    on_directories(&both(), |root, _| {
        let mut file = File::create(root.join("a")).unwrap();
        fs::rename(root.join("a"), root.join("b")).unwrap();
        assert_eq!(fs::metadata(root.join("b")).unwrap().len(), 0);
        file.write_all(b"12345").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(fs::metadata(root.join("b")).unwrap().len(), 5);
    });
}

/// A list as the kernel has it: tag, permissions and number of each entry.
pub(super) fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry =
        |(tag, bits, id): &(u16, u16, u32)| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
    [2_u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
}

#[test]
fn who_is_refused_by_a_list_of_the_source_is_refused_by_the_mount() {
    const NONE: u32 = u32::MAX;
    on_directories(&both(), |root, source| {
        let path = source.join("secret");
        fs::write(&path, "top").unwrap();
        mode(&path, 0o644);
        // The owner, a user, the group, the mask and others.
        let value = list(&[(1, 6, NONE), (2, 0, NOBODY), (4, 4, NONE), (16, 4, NONE), (32, 4, NONE)]);
        match rustix::fs::setxattr(&path, "system.posix_acl_access", &value, XattrFlags::empty()) {
            Err(rustix::io::Errno::OPNOTSUPP) => return,
            set => set.unwrap(),
        }
        assert!(!may(source, NOBODY, "cat \"$1\"", &path));
        assert!(!may(root, NOBODY, "cat \"$1\"", &root.join("secret")));
        assert_eq!(fs::read_to_string(root.join("secret")).unwrap(), "top", "root may");
    });
}
