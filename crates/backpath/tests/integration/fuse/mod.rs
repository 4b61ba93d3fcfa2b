//! What POSIX asks of a file system, through real mounts: the checks of pjdfstest in kind, by a few operations each.

mod creation;
mod identity;
mod mounts;
mod sharing;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backpath::fuse::{DirectoryFileSystem, MountOptions, NodeFileSystem, StoredFileSystem, spawn};
use backpath::metadata::{MemoryKeyValue, MetadataStore};
use backpath::{Errno, Options};
use manometer_testing::{Cause, command_as, scratch_directory, skip};

/// Users without rights.
const NOBODY: u32 = 65534;
const SOMEBODY: u32 = 65533;

/// What a file system is not asked, because it does not have it.
#[derive(Clone, Copy, PartialEq)]
enum Has {
    Everything,
    FilesAndLinks,
}

fn with_mount(name: &str, has: Has, files: impl NodeFileSystem, check: impl FnOnce(&Path, Has)) {
    with_kernel_cache(name, Duration::from_secs(1), files, |root| check(root, has));
}

fn with_kernel_cache(name: &str, kernel_cache: Duration, files: impl NodeFileSystem, check: impl FnOnce(&Path)) {
    let target = tempfile::Builder::new().prefix(name).tempdir_in(scratch_directory()).unwrap();
    fs::set_permissions(target.path(), Permissions::from_mode(0o755)).unwrap();
    let options = MountOptions { name: name.to_owned(), kernel_cache, threads: 2, allow_other: true };
    let session = spawn(files, target.path(), &options).unwrap();
    // Unmounts when it is dropped, also by a panic.
    let session = scopeguard(session);
    check(target.path());
    session.end(target.path());
}

struct Guarded(Option<backpath::fuse::BackgroundSession>);

fn scopeguard(session: backpath::fuse::BackgroundSession) -> Guarded {
    Guarded(Some(session))
}

impl Guarded {
    /// Unmounts. A process that another test starts has open files of all tests until it executes its program: then the
    /// mount is busy for a moment.
    fn end(mut self, target: &Path) {
        let unmounts = || Command::new("umount").arg(target).output().unwrap().status.success();
        assert!((0..1000).any(|_| unmounts()), "the mount stays busy");
        self.0.take().unwrap().join().unwrap();
    }
}

fn can_mount() -> bool {
    let can = rustix::process::geteuid().is_root() && File::open("/dev/fuse").is_ok();
    if !can {
        skip(Cause::Root, "mounting with FUSE needs root and /dev/fuse");
    }
    can
}

/// On every kind of file system that can be mounted.
fn everywhere(check: impl Fn(&Path, Has)) {
    if !can_mount() {
        return;
    }
    for cache in [Some(Options::default()), Some(Options { capacity: 4, ..Options::default() }), None] {
        let source = tempfile::tempdir_in(scratch_directory()).unwrap();
        fs::set_permissions(source.path(), Permissions::from_mode(0o755)).unwrap();
        let files = DirectoryFileSystem::open(source.path(), cache).unwrap();
        with_mount("directory", Has::Everything, files, &check);
    }
    let store = MetadataStore::open_on(MemoryKeyValue::default(), Options::default()).unwrap();
    with_mount("store", Has::FilesAndLinks, StoredFileSystem::new(store, clock), &check);
}

#[expect(clippy::disallowed_methods, reason = "files of a mount have the wall clock's times")]
fn clock() -> SystemTime {
    SystemTime::now()
}

/// Whether a shell of this user succeeds; the path is its `$1`.
fn may(root: &Path, uid: u32, script: &str, path: &Path) -> bool {
    let mut command = command_as(uid, root, "sh");
    command.args(["-c", script, "sh"]).arg(path.strip_prefix(root).unwrap());
    command.output().unwrap().status.success()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn errno<T>(result: std::io::Result<T>) -> ErrorKind {
    result.err().expect("it has to fail").kind()
}

#[test]
fn files_keep_what_is_written() {
    everywhere(|root, _| {
        let path = root.join("file");
        let mut file = File::create(&path).unwrap();
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 253) as u8).collect();
        file.write_all(&bytes).unwrap();
        file.sync_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.write_all_at(b"hole", 400_000).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 400_004);
        file.set_len(10).unwrap();
        file.set_len(20).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&bytes[..10], &[0; 10]].concat());
        let mut appended = OpenOptions::new().append(true).open(&path).unwrap();
        appended.write_all(b"end").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 23);
        assert_eq!(errno(OpenOptions::new().write(true).create_new(true).open(&path)), ErrorKind::AlreadyExists);
        assert_eq!(errno(File::open(root.join("missing"))), ErrorKind::NotFound);
        assert_eq!(errno(File::open(path.join("x"))), ErrorKind::NotADirectory);
        assert_eq!(errno(File::create(root.join("n".repeat(256)))), ErrorKind::InvalidFilename);
        File::create(root.join("n".repeat(255))).unwrap();
        let missing = root.join("later");
        assert!(!missing.exists());
        File::create(&missing).unwrap();
        assert!(missing.exists(), "what was missing is not missing for ever");
    });
}

#[test]
fn directories_are_made_listed_and_removed() {
    everywhere(|root, _| {
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        for number in 0..200 {
            File::create(root.join(format!("a/{number}"))).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(root.join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 201);
        assert_eq!(errno(fs::remove_dir(root.join("a"))), ErrorKind::DirectoryNotEmpty);
        assert_eq!(errno(fs::remove_dir(root.join("a/1"))), ErrorKind::NotADirectory);
        assert_eq!(errno(fs::create_dir(root.join("a/1"))), ErrorKind::AlreadyExists);
        assert_eq!(errno(fs::remove_file(root.join("a/b"))), ErrorKind::IsADirectory);
        fs::remove_dir(root.join("a/b/c")).unwrap();
        assert!(!root.join("a/b/c").exists());
        fs::remove_dir_all(root.join("a")).unwrap();
        assert!(!root.join("a").exists());
    });
}

#[test]
fn renames_move_trees_and_replace() {
    everywhere(|root, _| {
        fs::create_dir_all(root.join("old/deep")).unwrap();
        fs::write(root.join("old/deep/file"), b"1").unwrap();
        assert!(root.join("old/deep/file").exists());
        fs::rename(root.join("old"), root.join("new")).unwrap();
        assert!(!root.join("old/deep/file").exists());
        assert_eq!(fs::read(root.join("new/deep/file")).unwrap(), b"1");
        fs::write(root.join("other"), b"2").unwrap();
        fs::rename(root.join("other"), root.join("new/deep/file")).unwrap();
        assert_eq!(fs::read(root.join("new/deep/file")).unwrap(), b"2");
        assert_eq!(errno(fs::rename(root.join("new"), root.join("new/deep/new"))), ErrorKind::InvalidInput);
        fs::create_dir(root.join("empty")).unwrap();
        assert_eq!(errno(fs::rename(root.join("new/deep/file"), root.join("empty"))), ErrorKind::IsADirectory);
        assert_eq!(errno(fs::rename(root.join("empty"), root.join("new"))), ErrorKind::DirectoryNotEmpty);
        fs::rename(root.join("new/deep"), root.join("empty")).unwrap();
        assert_eq!(fs::read(root.join("empty/file")).unwrap(), b"2");
    });
}

#[test]
fn links_of_both_kinds_lead_to_one_object() {
    everywhere(|root, _| {
        let path = root.join("file");
        fs::write(&path, b"content").unwrap();
        fs::hard_link(&path, root.join("second")).unwrap();
        let (one, two) = (fs::metadata(&path).unwrap(), fs::metadata(root.join("second")).unwrap());
        assert_eq!((one.ino(), two.nlink()), (two.ino(), 2));
        mode(&root.join("second"), 0o640);
        fs::write(root.join("second"), b"longer content").unwrap();
        let one = fs::metadata(&path).unwrap();
        assert_eq!((one.mode() & 0o777, one.len()), (0o640, 14));
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::metadata(root.join("second")).unwrap().nlink(), 1);
        assert_eq!(fs::read(root.join("second")).unwrap(), b"longer content");
        symlink("second", root.join("symbolic")).unwrap();
        assert_eq!(fs::read_link(root.join("symbolic")).unwrap(), Path::new("second"));
        assert_eq!(fs::read(root.join("symbolic")).unwrap(), b"longer content");
        std::os::unix::fs::lchown(root.join("symbolic"), Some(NOBODY), Some(SOMEBODY)).unwrap();
        let link = fs::symlink_metadata(root.join("symbolic")).unwrap();
        assert_eq!((link.uid(), link.gid()), (NOBODY, SOMEBODY));
        assert_eq!(fs::metadata(root.join("second")).unwrap().uid(), 0);
        symlink("circle", root.join("circle")).unwrap();
        assert_eq!(File::open(root.join("circle")).unwrap_err().raw_os_error(), Some(Errno::TooManyLinks.code()));
        fs::create_dir(root.join("directory")).unwrap();
        assert_eq!(errno(fs::hard_link(root.join("directory"), root.join("x"))), ErrorKind::PermissionDenied);
    });
}

#[test]
fn modes_keep_out_and_let_in() {
    everywhere(|root, _| {
        fs::create_dir_all(root.join("gate/inside")).unwrap();
        let path = root.join("gate/inside/file");
        fs::write(&path, b"secret").unwrap();
        mode(&path, 0o644);
        for (gate, reads) in [(0o755, true), (0o700, false), (0o711, true), (0o744, false), (0o755, true)] {
            mode(&root.join("gate"), gate);
            assert_eq!(may(root, NOBODY, "cat \"$1\"", &path), reads, "{gate:o}");
        }
        mode(&path, 0o600);
        assert!(!may(root, NOBODY, "cat \"$1\"", &path));
        mode(&path, 0o644);
        assert!(!may(root, NOBODY, "echo x > \"$1\"", &path));
        assert!(!may(root, NOBODY, "chmod 777 \"$1\"", &path));
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(may(root, NOBODY, "chmod 600 \"$1\" && echo mine > \"$1\"", &path));
        assert!(!may(root, SOMEBODY, "cat \"$1\"", &path));
        assert_eq!(fs::metadata(&path).unwrap().uid(), NOBODY);
    });
}

#[test]
fn sticky_directories_protect_and_owners_are_who_creates() {
    everywhere(|root, _| {
        let shared = root.join("shared");
        fs::create_dir(&shared).unwrap();
        mode(&shared, 0o1777);
        let path = shared.join("file");
        assert!(may(root, NOBODY, "umask 022; echo > \"$1\"", &path));
        let made = fs::metadata(&path).unwrap();
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o777), (NOBODY, NOBODY, 0o644));
        assert!(!may(root, SOMEBODY, "rm -f \"$1\"", &path));
        assert!(!may(root, SOMEBODY, "mv \"$1\" \"$1.moved\"", &path));
        assert!(may(root, NOBODY, "mv \"$1\" \"$1.moved\" && rm \"$1.moved\"", &path));
        mode(&shared, 0o755);
        assert!(!may(root, NOBODY, "echo > \"$1\"", &path));
    });
}

#[test]
fn times_are_set_and_move_on() {
    everywhere(|root, _| {
        let path = root.join("file");
        fs::write(&path, b"1").unwrap();
        let past = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), past);
        fs::write(&path, b"22").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.modified().unwrap() > past);
        assert_eq!(metadata.len(), 2);
    });
}

#[test]
fn an_open_file_outlives_its_name_where_the_file_system_can() {
    everywhere(|root, has| {
        let path = root.join("file");
        fs::write(&path, b"still here").unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!path.exists());
        let mut text = String::new();
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text));
        match has {
            Has::Everything => {
                read.unwrap();
                assert_eq!(text, "still here");
                file.set_len(3).unwrap();
                assert_eq!(file.metadata().unwrap().len(), 3);
            }
            // A store has no content without a name; the kernel may still have it.
            Has::FilesAndLinks => assert!(read.is_err() || text == "still here"),
        }
    });
}

#[test]
fn other_objects_are_made_where_the_file_system_has_them() {
    everywhere(|root, has| {
        let path = root.join("pipe");
        let made = Command::new("mkfifo").arg(&path).output().unwrap().status.success();
        assert_eq!(made, has == Has::Everything);
        if made {
            use std::os::unix::fs::FileTypeExt as _;
            assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        }
        assert!(Command::new("df").arg(root).output().unwrap().status.success());
    });
}

#[test]
fn a_tree_is_packed_and_unpacked_as_it_is() {
    everywhere(|root, _| {
        fs::create_dir_all(root.join("tree/a/b")).unwrap();
        for number in 0..50 {
            fs::write(root.join(format!("tree/a/b/{number}")), vec![number; usize::from(number) * 1000]).unwrap();
        }
        symlink("a/b/7", root.join("tree/link")).unwrap();
        let script = "cd \"$1\" && tar cf packed.tar tree && mkdir out && tar xf packed.tar -C out && diff -r tree out/tree \
                      && find out -type f | wc -l | grep -qx 50 && du -s out && rm -r out tree packed.tar";
        let output = Command::new("sh").args(["-c", script, "sh"]).arg(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_dir(root).unwrap().count(), 0);
    });
}
