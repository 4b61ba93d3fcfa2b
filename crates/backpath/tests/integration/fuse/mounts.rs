//! Other mounts below the directory.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use super::identity::on_directories;

fn mount(arguments: &[&str], target: &Path) -> Mounted {
    let output = Command::new("mount").args(arguments).arg(target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Mounted(target.to_owned())
}

/// Unmounts when it is dropped, also by a panic.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn unmounts(&self) -> bool {
        Command::new("umount").arg(&self.0).output().unwrap().status.success()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l".as_ref(), self.0.as_os_str()]).output();
    }
}

#[test]
fn what_is_read_only_in_one_place_is_so_whichever_place_is_seen_first() {
    on_directories(&[None], |root, source| {
        fs::create_dir(source.join("open")).unwrap();
        fs::create_dir(source.join("closed")).unwrap();
        fs::write(source.join("open/file"), "1").unwrap();
        let open = source.join("open");
        let closed = mount(&["--bind", "-o", "ro", open.to_str().unwrap()], &source.join("closed"));
        assert_eq!(fs::read(root.join("open/file")).unwrap(), b"1");
        let refused = fs::write(root.join("closed/file"), "2").unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::ROFS.raw_os_error()));
        assert!(fs::remove_file(root.join("closed/file")).is_err());
        fs::write(root.join("open/file"), "3").unwrap();
        assert_eq!(fs::read(source.join("closed/file")).unwrap(), b"3");
        drop(closed);
    });
}

#[test]
fn a_directory_that_is_mounted_in_itself_is_walked() {
    on_directories(&[None], |root, source| {
        fs::create_dir(source.join("again")).unwrap();
        fs::write(source.join("file"), "1").unwrap();
        let again = mount(&["--bind", source.to_str().unwrap()], &source.join("again"));
        let mut names: Vec<_> =
            fs::read_dir(root.join("again")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["again", "file"]);
        assert_eq!(fs::read(root.join("again/file")).unwrap(), b"1");
        drop(again);
    });
}

#[test]
fn listings_number_the_objects_of_another_file_system_as_their_attributes_do() {
    on_directories(&[None], |root, source| {
        fs::create_dir(source.join("memory")).unwrap();
        let memory = mount(&["-t", "tmpfs", "none"], &source.join("memory"));
        fs::write(source.join("memory/file"), "1").unwrap();
        let directory = rustix::fs::open(
            root.join("memory"),
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        );
        let entries = rustix::fs::Dir::new(directory.unwrap()).unwrap().map(Result::unwrap);
        let listed = entries.filter(|entry| entry.file_name() == c"file").map(|entry| entry.ino()).collect::<Vec<_>>();
        assert_eq!(listed, [fs::metadata(root.join("memory/file")).unwrap().ino()]);
        drop(memory);
    });
}

#[test]
fn a_file_system_below_is_free_when_its_objects_are_forgotten() {
    on_directories(&[None], |root, source| {
        fs::create_dir(source.join("memory")).unwrap();
        let memory = mount(&["-t", "tmpfs", "none"], &source.join("memory"));
        fs::write(root.join("memory/file"), "1").unwrap();
        fs::create_dir(root.join("memory/directory")).unwrap();
        // Removed and forgotten, one after another; the root of the file system is the last.
        fs::remove_file(root.join("memory/file")).unwrap();
        fs::remove_dir(root.join("memory/directory")).unwrap();
        let forgets = || fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
        assert!((0..1000).any(|_| {
            forgets();
            memory.unmounts()
        }));
        assert_eq!(fs::read_dir(root.join("memory")).unwrap().count(), 0);
    });
}
