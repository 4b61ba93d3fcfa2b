//! `manometer backpath mount`: real mounts by the real program, used by ordinary programs.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use manometer_testing::{Cause, command_as, installed, skip};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::support::{CommandOutput, Running, Scene, wait_for};

/// A user without rights.
const NOBODY: u32 = 65534;

/// Whether mounts can be tested here.
fn can_mount() -> bool {
    let can = rustix::process::geteuid().is_root() && File::open("/dev/fuse").is_ok();
    if !can {
        skip(Cause::Root, "mounting with FUSE needs root and /dev/fuse");
    }
    can
}

/// Unmounts as anybody does. A process that another test starts has open files of all tests until it executes its program.
fn unmount(target: &Path) {
    let unmounts = || Command::new("umount").arg(target).output().unwrap().status.success();
    wait_for("the mount to be free", || unmounts().then_some(()));
}

/// A folder with a tree in `source` and an empty `target`.
fn scene() -> Scene {
    let scene = Scene::new();
    fs::create_dir_all(scene.path("source/a/b")).unwrap();
    fs::create_dir(scene.path("target")).unwrap();
    scene.write("source/a/b/file", "content");
    for folder in [".", "source", "target"] {
        fs::set_permissions(scene.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene
}

fn is_mounted(path: &Path) -> bool {
    path.metadata().unwrap().dev() != path.parent().unwrap().metadata().unwrap().dev()
}

/// A mount that works. Whatever becomes of the test, it is gone in the end.
struct Mounted<'a> {
    scene: &'a Scene,
    program: Option<Running>,
}

impl<'a> Mounted<'a> {
    fn new(scene: &'a Scene, source: &str, flags: &str) -> Self {
        let program = scene.start(&format!("backpath mount {source} target {flags}"));
        let mounted = Self { scene, program: Some(program) };
        wait_for("the mount", || is_mounted(&scene.path("target")).then_some(()));
        mounted
    }

    fn signal(&self, signal: Signal) {
        self.program.as_ref().unwrap().signal(signal);
    }

    fn output(mut self) -> CommandOutput {
        self.program.take().unwrap().end()
    }

    /// Ends it as a person would.
    fn end(self) -> CommandOutput {
        self.signal(Signal::INT);
        let target = self.scene.path("target");
        let output = self.output().status(0);
        assert!(!is_mounted(&target));
        assert_eq!(fs::read_dir(target).unwrap().count(), 0, "nothing is left there");
        output
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if self.program.is_some() {
            let _ = Command::new("umount").arg("--lazy").arg(self.scene.path("target")).output();
        }
    }
}

/// Lists, reads, writes, renames and links below `root`, and meets the permissions.
fn use_it(root: &Path) {
    fs::create_dir_all(root.join("new/deep")).unwrap();
    fs::write(root.join("new/deep/file"), "written").unwrap();
    assert_eq!(fs::read_to_string(root.join("new/deep/file")).unwrap(), "written");
    assert_eq!(fs::metadata(root.join("new/deep/file")).unwrap().len(), 7);
    fs::rename(root.join("new"), root.join("moved")).unwrap();
    assert_eq!(File::open(root.join("new/deep/file")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read_to_string(root.join("moved/deep/file")).unwrap(), "written");
    fs::hard_link(root.join("moved/deep/file"), root.join("second")).unwrap();
    assert_eq!(fs::metadata(root.join("second")).unwrap().nlink(), 2);
    symlink("moved/deep/file", root.join("link")).unwrap();
    assert_eq!(fs::read_to_string(root.join("link")).unwrap(), "written");
    let reads = |path| command_as(NOBODY, root, "cat").arg(path).output().unwrap().status.success();
    for (mode, expected) in [(0o755, true), (0o700, false), (0o711, true), (0o744, false)] {
        fs::set_permissions(root.join("moved"), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(reads("moved/deep/file"), expected, "{mode:o}");
    }
    assert!(reads("second"), "the other name does not lead through the closed directory");
    let mut names: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.iter().any(|name| name == "moved") && names.iter().any(|name| name == "link"), "{names:?}");
    assert_eq!(fs::remove_dir(root.join("moved")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    fs::remove_dir_all(root.join("moved")).unwrap();
    assert_eq!(fs::read_to_string(root.join("second")).unwrap(), "written");
}

#[test]
fn a_directory_is_used_through_its_mount_with_a_cache_and_without() {
    if !can_mount() {
        return;
    }
    for flags in ["", "--capacity 4", "--without-cache --threads 1", "--kernel-cache 0s"] {
        let scene = scene();
        let mounted = Mounted::new(&scene, "source", flags);
        assert_eq!(fs::read_to_string(scene.path("target/a/b/file")).unwrap(), "content");
        use_it(&scene.path("target"));
        let table = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(table.lines().any(|line| line.starts_with("source ") && line.contains(" fuse")), "{table}");
        mounted.end().out_has(&["source was mounted at target", "were asked for"]);
        assert_eq!(scene.read("source/second"), "written", "the folder itself has what was written");
    }
}

#[test]
fn a_tree_of_more_objects_than_the_program_may_open_is_walked() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    for number in 0..400 {
        fs::create_dir_all(scene.path(&format!("source/{}", number % 20))).unwrap();
        scene.write(&format!("source/{}/{number}", number % 20), "content");
    }
    for flags in ["", "--without-cache"] {
        let mounted = Mounted::new(&scene, "source", flags);
        let program = Pid::from_raw(mounted.program.as_ref().unwrap().pid() as i32);
        prlimit(program, Resource::Nofile, Rlimit { current: Some(40), maximum: Some(40) }).unwrap();
        let walk = Command::new("tar").args(["--create", "--file=-", "target"]).current_dir(scene.path(".")).output();
        assert!(walk.as_ref().unwrap().status.success(), "{}", String::from_utf8_lossy(&walk.unwrap().stderr));
        let held: Vec<File> =
            (0..10).map(|number| File::open(scene.path(&format!("target/{number}/{number}"))).unwrap()).collect();
        drop(held);
        assert!(!mounted.end().err().contains("open files"));
    }
}

#[test]
fn what_cannot_be_told_of_is_not_created() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    scene.write("source/file", "content");
    let mounted = Mounted::new(&scene, "source", "--without-cache --kernel-cache 0s");
    let pid = mounted.program.as_ref().unwrap().pid();
    let target = |name: &str| scene.path(&format!("target/{name}"));
    type Creation<'a> = &'a dyn Fn(&Path) -> std::io::Result<()>;
    let creations: [(&str, Creation<'_>); 5] = [
        ("directory", &|path| fs::create_dir(path)),
        ("created", &|path| File::create_new(path).map(drop)),
        ("symlink", &|path| std::os::unix::fs::symlink("file", path)),
        ("link", &|path| fs::hard_link(target("file"), path)),
        ("pipe", &|path| Ok(rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o644.into())?)),
    ];
    let mut refused = 0;
    let opened = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
    for limit in [0].into_iter().chain(opened - 3..opened + 6) {
        let limited = Rlimit { current: Some(limit), maximum: getrlimit(Resource::Nofile).maximum };
        let before = prlimit(Pid::from_raw(pid as i32), Resource::Nofile, limited).unwrap();
        for (name, create) in &creations {
            let name = format!("{name}{limit}");
            let created = create(&target(&name));
            let exists = fs::symlink_metadata(scene.path(&format!("source/{name}"))).is_ok();
            assert_eq!(exists, created.is_ok(), "{name}: {created:?}");
            if let Err(error) = created {
                assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NFILE.raw_os_error()), "{name}");
                refused += 1;
            }
        }
        prlimit(Pid::from_raw(pid as i32), Resource::Nofile, before).unwrap();
    }
    assert!((5..50).contains(&refused), "some are refused, some created: {refused}");
    mounted.end();
}

#[test]
fn the_summary_counts_what_the_cache_answered() {
    if !can_mount() {
        return;
    }
    for (flags, capacity) in [("", Some(100_000)), ("--without-cache", None)] {
        let scene = scene();
        let mounted = Mounted::new(&scene, "source", &format!("{flags} --kernel-cache 0s --format json"));
        for _ in 0..10 {
            fs::metadata(scene.path("target/a/b/file")).unwrap();
        }
        let summary = mounted.end().json();
        assert_eq!(summary["cache_capacity"].as_u64(), capacity);
        let (stats, cached) = (summary["stats"].as_u64().unwrap(), summary["stats_from_cache"].as_u64().unwrap());
        assert!(stats >= 30, "three names, ten times: {summary}");
        assert_eq!(cached > 20, capacity.is_some(), "{summary}");
        assert!(cached == 0 || cached < stats, "{summary}");
    }
}

#[test]
fn a_store_in_a_database_of_rlsm_is_mounted_again() {
    if !can_mount() || !cfg!(feature = "rlsm") {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "rlsm:database", "");
    use_it(&scene.path("target"));
    mounted.signal(Signal::TERM);
    mounted.output().status(0).out_has(&["rlsm:database was mounted", "round trips"]);
    let mounted = Mounted::new(&scene, "rlsm:database", "--format json");
    assert_eq!(fs::read_to_string(scene.path("target/second")).unwrap(), "written");
    assert!(mounted.end().json()["round_trips"].as_u64().unwrap() > 0);
}

/// A Redis server that is stopped in the end.
struct Redis(Child, u16);

impl Redis {
    fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let flags = ["--bind", "127.0.0.1", "--save", "", "--requirepass", "secret", "--port"];
        let server = Command::new("redis-server").args(flags).arg(port.to_string()).stdout(Stdio::null()).spawn();
        let server = Self(server.unwrap(), port);
        wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        server
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_store_on_redis_is_mounted_and_its_password_is_not_shown() {
    if !can_mount() {
        return;
    }
    if !installed("redis-server") {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let (scene, server) = (scene(), Redis::start());
    let source = format!("redis://:secret@127.0.0.1:{}/0", server.1);
    let mounted = Mounted::new(&scene, &source, "--prefix photos:");
    use_it(&scene.path("target"));
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains("secret"));
    let output = mounted.end();
    assert!(!format!("{}{}", output.out(), output.err()).contains("secret"));
    let other = Mounted::new(&scene, &source, "--prefix other:");
    assert_eq!(fs::read_dir(scene.path("target")).unwrap().count(), 0, "another prefix is another store");
    other.end();
    drop(server);
    let gone = scene.run(&format!("backpath mount {source} target")).status(1);
    assert!(!gone.err().contains("secret"), "{}", gone.err());
}

#[test]
fn somebody_else_may_unmount() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "source", "");
    unmount(&scene.path("target"));
    let output = mounted.output().status(0).out_has(&["was mounted at target"]);
    assert!(!output.err().contains("nmount"), "no failure is reported: {}", output.err());
}

#[test]
fn a_mount_in_use_is_detached_and_served_until_its_last_user_leaves() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "source", "--kernel-cache 0s");
    let mut file = File::open(scene.path("target/a/b/file")).unwrap();
    mounted.signal(Signal::TERM);
    wait_for("the mount to leave the tree", || (!is_mounted(&scene.path("target"))).then_some(()));
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "content");
    drop(file);
    mounted.output().status(0).err_has(&["detached", "interrupt again"]);
}

#[test]
fn a_second_signal_does_not_wait_for_users() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "source", "");
    let mut file = File::open(scene.path("target/a/b/file")).unwrap();
    mounted.signal(Signal::INT);
    wait_for("the mount to leave the tree", || (!is_mounted(&scene.path("target"))).then_some(()));
    mounted.signal(Signal::INT);
    mounted.output().err_has(&["detached"]);
    assert!(file.read_to_string(&mut String::new()).is_err(), "nobody serves it any more");
}

#[test]
fn wrong_sources_and_targets_are_refused_before_anything_is_mounted() {
    let scene = scene();
    scene.write("file", "");
    fs::create_dir_all(scene.path("full/inside")).unwrap();
    let refused = |words: &str, why: &[&str]| {
        scene.run(&format!("backpath mount {words}")).status(2).err_has(why);
    };
    refused("nowhere target", &["nowhere: no directory", "rlsm:DIRECTORY"]);
    refused("file target", &["file: no directory"]);
    refused("source nowhere", &["nowhere: no such directory: make it first"]);
    refused("source file", &["file: is not a directory"]);
    refused("source full", &["full: is not empty"]);
    refused("source source/a", &["source/a is inside source"]);
    refused("source source", &["inside"]);
    refused("rlsm:database target --without-cache", &["always mounted with its cache"]);
    refused("source target --prefix a", &["only a Redis store"]);
    refused("source target --capacity 0", &["capacity"]);
    refused("source target --capacity 9 --without-cache", &["cannot be used with"]);
    refused("source target --kernel-cache soon", &["duration"]);
    assert!(!scene.path("database").exists(), "a refused request makes nothing");
    scene.run("backpath mount redis://127.0.0.1:1/0 target").status(1).err_has(&["redis://127.0.0.1:1/0"]);
    scene.run("backpath mount redis://nonsense:port target").status(1).err_has(&["redis://nonsense:port"]);
}

#[test]
fn a_database_with_other_content_is_refused_and_not_changed() {
    if !cfg!(feature = "rlsm") {
        return;
    }
    let scene = scene();
    let fill = "kv --engine rlsm --workload fillseq --records 100 --dir d --keep --option sync=never";
    scene.run(fill).status(0);
    let found = fs::read_dir(scene.path("d")).unwrap().map(|entry| entry.unwrap().path().join("db"));
    let database = found.filter(|path| path.is_dir()).last().unwrap();
    let words = format!("backpath mount rlsm:{} target", database.display());
    scene.run(&words).status(2).err_has(&["holds something else"]);
}

#[test]
fn a_target_that_carries_a_mount_is_refused() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "source", "");
    scene.run("backpath mount source target").status(2).err_has(&["something is mounted there"]);
    mounted.end();
}

#[test]
fn a_mount_whose_program_was_killed_is_named_as_such() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    let mounted = Mounted::new(&scene, "source", "");
    mounted.signal(Signal::KILL);
    mounted.output();
    scene.run("backpath mount source target").status(2).err_has(&["lost its program", "umount"]);
    unmount(&scene.path("target"));
}

#[test]
fn a_host_without_fuse_is_told_how_to_get_it() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    // In a mount table of its own, where /dev is empty.
    let script = "mount -t tmpfs none /dev && exec \"$0\" backpath mount source target";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(manometer_testing::binary("manometer"));
    let output = command.current_dir(scene.path(".")).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("there is no /dev/fuse") && error.contains("modprobe fuse"), "{error}");
}

#[test]
fn who_may_not_mount_is_told_what_is_missing() {
    if !can_mount() {
        return;
    }
    let scene = scene();
    fs::set_permissions(scene.path("target"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::hard_link(manometer_testing::binary("manometer"), scene.path("manometer")).unwrap();
    // Without a helper that mounts for everybody.
    let mut command = command_as(NOBODY, &scene.path("."), "env");
    command.args(["PATH=", "FUSERMOUNT_PATH=/no/such/helper", "./manometer", "backpath", "mount", "source", "target"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("target: cannot be mounted") && error.contains("fuse3"), "{error}");
}
