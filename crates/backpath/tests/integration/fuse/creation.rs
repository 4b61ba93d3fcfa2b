//! What is created is its creator's, and nothing else changes hands.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backpath::Options;
use backpath::fuse::{Attribution, DirectoryFileSystem, NewObject, NodeFileSystem};
use rustix::fs::XattrFlags;

use super::identity::{both, list, on_directories};
use super::{NOBODY, SOMEBODY, can_mount, everywhere, may, mode, with_kernel_cache};

/// Its number in a file system is the root's.
const ROOT: u64 = 1;

#[test]
fn nothing_that_takes_the_place_of_a_new_object_changes_hands() {
    on_directories(&[None], |root, source| {
        let (shared, precious) = (source.join("shared"), source.join("precious"));
        fs::create_dir(&shared).unwrap();
        chown(&shared, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::write(&precious, "root's").unwrap();
        mode(&precious, 0o600);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Whoever owns a directory can rename in it what is not his; a link stands for that.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = fs::hard_link(&precious, shared.join("linked"));
                    let _ = fs::rename(shared.join("linked"), shared.join("name"));
                    let _ = fs::remove_file(shared.join("name"));
                }
            });
            let script = "i=0; while [ $i -lt 300 ]; do mkfifo \"$1/name\"; : > \"$1/name.2\"; mkdir \"$1/name\"; \
                          rmdir \"$1/name\"; i=$((i+1)); done; true";
            assert!(may(root, NOBODY, script, &root.join("shared")));
            is_over.store(true, Ordering::Relaxed);
        });
        let after = fs::metadata(&precious).unwrap();
        assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (0, 0, 0o600));
    });
}

#[test]
fn a_default_list_says_who_may_use_what_is_created() {
    const NONE: u32 = u32::MAX;
    on_directories(&both(), |root, source| {
        for name in ["mounted", "plain"] {
            let directory = source.join(name);
            fs::create_dir(&directory).unwrap();
            // The owner all, a user nothing, the group and others nothing.
            let value = list(&[(1, 7, NONE), (2, 0, SOMEBODY), (4, 0, NONE), (16, 7, NONE), (32, 0, NONE)]);
            match rustix::fs::setxattr(&directory, "system.posix_acl_default", &value, XattrFlags::empty()) {
                Err(rustix::io::Errno::OPNOTSUPP) => return,
                set => set.unwrap(),
            }
        }
        let create = |directory: &Path| {
            File::create(directory.join("file")).unwrap();
            fs::create_dir(directory.join("directory")).unwrap();
        };
        create(&root.join("mounted"));
        create(&source.join("plain"));
        for name in ["file", "directory"] {
            let of = |parent: &str| {
                let path = source.join(parent).join(name);
                let mut bytes = [0; 128];
                let length = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut bytes).unwrap_or(0);
                (fs::metadata(&path).unwrap().mode(), bytes[..length].to_vec())
            };
            assert_eq!(of("mounted"), of("plain"), "{name}");
        }
    });
}

#[test]
fn masks_and_special_bits_are_the_creators() {
    everywhere(|root, _| {
        mode(root, 0o777);
        let script = "umask 027; mkdir \"$1.directory\"; : > \"$1.file\"; umask 0; : > \"$1.open\"";
        assert!(may(root, NOBODY, script, &root.join("made")));
        let mode_of = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o7777;
        assert_eq!([mode_of("made.directory"), mode_of("made.file"), mode_of("made.open")], [0o750, 0o640, 0o666]);
        OpenOptions::new().write(true).create_new(true).mode(0o4755).open(root.join("special")).unwrap();
        assert_eq!(mode_of("special") & 0o4000, 0o4000);
    });
}

#[test]
fn who_may_not_be_served_creates_nothing() {
    let source = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
    let files = DirectoryFileSystem::open(source.path(), None).unwrap();
    // Nobody has this number.
    let by = Attribution { uid: u32::MAX, gid: u32::MAX, mode: 0o644, mask: 0 };
    assert_eq!(files.create(ROOT, b"x", NewObject::Directory, by).unwrap_err(), rustix::io::Errno::PERM);
    assert_eq!(files.create_file(ROOT, b"y", by, true).map(|_| ()).unwrap_err(), rustix::io::Errno::PERM);
    assert_eq!(fs::read_dir(source.path()).unwrap().count(), 0);
}

#[test]
fn two_who_create_one_name_open_one_file() {
    if !can_mount() {
        return;
    }
    let source = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
    let files = || DirectoryFileSystem::open(source.path(), None).unwrap();
    with_kernel_cache("one", Duration::ZERO, files(), |one| {
        with_kernel_cache("two", Duration::ZERO, files(), |two| {
            let at_once = Barrier::new(2);
            std::thread::scope(|scope| {
                for root in [one, two] {
                    let at_once = &at_once;
                    scope.spawn(move || {
                        for number in 0..300 {
                            at_once.wait();
                            let path = root.join(number.to_string());
                            let opened = OpenOptions::new().append(true).create(true).open(path);
                            opened.unwrap().write_all(b"x").unwrap();
                        }
                    });
                }
            });
            assert!((0..300).all(|number| fs::read(source.path().join(number.to_string())).unwrap() == b"xx"));
        });
    });
}

#[test]
fn who_writes_anothers_program_does_not_act_as_its_owner() {
    if !can_mount() {
        return;
    }
    for kernel_cache in [Duration::ZERO, Duration::from_secs(1)] {
        let source = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
        mode(source.path(), 0o755);
        let program = source.path().join("program");
        fs::write(&program, "old").unwrap();
        let files = DirectoryFileSystem::open(source.path(), None).unwrap();
        with_kernel_cache("set-id", kernel_cache, files, |root| {
            for script in ["echo more >> \"$1\"", "echo more | dd of=\"$1\" conv=notrunc", ": > \"$1\""] {
                fs::set_permissions(&program, Permissions::from_mode(0o6777)).unwrap();
                assert!(may(root, NOBODY, script, &root.join("program")));
                assert_eq!(fs::metadata(&program).unwrap().mode() & 0o7777, 0o777, "{script}");
            }
            fs::set_permissions(&program, Permissions::from_mode(0o6777)).unwrap();
            OpenOptions::new().append(true).open(root.join("program")).unwrap().write_all(b"root's").unwrap();
            assert_eq!(fs::metadata(&program).unwrap().mode() & 0o7777, 0o6777, "root may");
        });
    }
}

#[test]
fn times_before_1970_are_kept() {
    everywhere(|root, _| {
        let path = root.join("old");
        File::create(&path).unwrap();
        for (seconds, nanoseconds) in [(-1, 500_000_000), (-2, 500_000_000), (-3, 0), (-100, 1), (1, 5)] {
            let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
            rustix::fs::utimensat(rustix::fs::CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
            let metadata = fs::metadata(&path).unwrap();
            assert_eq!((metadata.mtime(), metadata.mtime_nsec()), (seconds, nanoseconds));
        }
    });
}

#[test]
fn a_cache_of_paths_does_not_hide_what_another_creates() {
    if !can_mount() {
        return;
    }
    let source = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
    let files = DirectoryFileSystem::open(source.path(), Some(Options::default())).unwrap();
    with_kernel_cache("hidden", Duration::ZERO, files, |root| {
        assert!(!root.join("x").exists());
        fs::write(source.path().join("x"), "there").unwrap();
        // The cache still says that there is nothing.
        OpenOptions::new().append(true).create(true).open(root.join("x")).unwrap().write_all(b" and more").unwrap();
        assert_eq!(fs::read_to_string(source.path().join("x")).unwrap(), "there and more");
    });
}
