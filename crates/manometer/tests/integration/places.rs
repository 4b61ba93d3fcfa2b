//! Where a run writes, and where nothing leads it to write.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::Path;

use manometer_testing::{Cause, installed, skip};

use crate::support::{SHORT, Scene, wait_for_event};

const PRECIOUS: &str = "precious";

/// A scene with a file, outside the device directory, that nothing may change.
fn scene() -> Scene {
    let scene = Scene::short();
    fs::create_dir_all(scene.path("data")).unwrap();
    fs::create_dir(scene.path("elsewhere")).unwrap();
    scene.write("elsewhere/file", PRECIOUS);
    scene
}

fn nothing_is_written_elsewhere(scene: &Scene) {
    assert_eq!(scene.read("elsewhere/file"), PRECIOUS);
    let entries = fs::read_dir(scene.path("elsewhere")).unwrap().count();
    assert_eq!(entries, 1, "something was written through a link");
}

#[test]
fn links_where_a_run_writes_are_refused() {
    let names = [
        "primary",
        "writer",
        ".manometer-ledger.jsonl",
        ".manometer-snapshots",
        ".manometer-scratch",
        ".manometer.lock",
    ];
    for (target, name) in
        ["elsewhere", "elsewhere/file", "elsewhere/new"].iter().flat_map(|target| names.map(|name| (*target, name)))
    {
        let scene = scene();
        symlink(scene.path(target), scene.path("data").join(name)).unwrap();
        for verb in ["run short.toml --out rec", "prepare short.toml"] {
            scene.run(verb).status(2).err_has(&[name, "is a symbolic link"]);
        }
        nothing_is_written_elsewhere(&scene);
        assert!(!scene.path("rec").exists());
    }
}

#[test]
fn a_link_among_a_workloads_files_leads_nowhere() {
    let scene = scene();
    scene.run("run short.toml --out one").status(0);
    let file = scene.path("data/writer/0.data");
    fs::remove_file(&file).unwrap();
    symlink(scene.path("elsewhere/file"), &file).unwrap();
    scene.run("run short.toml --out two");
    nothing_is_written_elsewhere(&scene);
    // Also where the file could be used as it is.
    let size = fs::metadata(scene.path("one/plan.json")).unwrap().size();
    assert!(size > 0);
    fs::write(scene.path("elsewhere/file"), vec![7; 4 << 20]).unwrap();
    scene.run("run short.toml --out three --reuse");
    assert!(fs::read(scene.path("elsewhere/file")).unwrap() == vec![7; 4 << 20], "written through a link");
}

/// Puts a link to the folder `elsewhere` in the place of the folder `name`, which becomes `moved`.
fn exchange(scene: &Scene, name: &str, moved: &str) {
    fs::rename(scene.path(name), scene.path(moved)).unwrap();
    symlink(scene.path("elsewhere"), scene.path(name)).unwrap();
}

#[test]
fn a_link_that_takes_a_recordings_place_during_its_run_leads_nowhere() {
    let scene = scene();
    let running = scene.start("run short.toml --out rec");
    wait_for_event(&scene.path("rec"), "phase_started");
    exchange(&scene, "rec", "moved");
    running.end().status(0);
    assert!(scene.path("moved/summary.json").exists() && scene.path("moved/report.html").exists());
    nothing_is_written_elsewhere(&scene);

    scene.write("set.toml", &format!("{SHORT}\n[sweep]\nrepeats = 2\n"));
    let running = scene.start("run set.toml --out set");
    wait_for_event(&scene.path("set/runs/001"), "phase_started");
    exchange(&scene, "set/runs/001", "set/moved");
    running.end().status(1).err_has(&["runs/001", "is a symbolic link"]);
    nothing_is_written_elsewhere(&scene);
    scene.run("run set.toml --out set --resume").status(0);
    assert!(scene.path("set/set-aside/001.interrupted-1").is_symlink());
    nothing_is_written_elsewhere(&scene);
}

#[test]
fn a_link_in_the_place_of_the_pages_of_runs_is_refused() {
    let scene = scene();
    scene.run("run short.toml --out rec").status(0);
    scene.shell("mkdir many && for run in 1 2 3 4 5 6 7 8 9; do cp -r rec many/$run; done");
    symlink(scene.path("elsewhere"), scene.path("many/report-runs")).unwrap();
    scene.run("report many --out many/report.html").status(1).err_has(&["report-runs is a symbolic link"]);
    nothing_is_written_elsewhere(&scene);
}

#[test]
fn an_engines_option_leads_nowhere() {
    let scene = scene();
    let options = format!("options = {{ wal_dir = \"{}\" }}\nrecords", scene.path("elsewhere/wal").display());
    let text = SHORT.replace("engine = \"null\"", "engine = \"rocksdb\"").replacen("records", &options, 1);
    scene.write("short.toml", &text);
    scene.run("run short.toml --out rec");
    nothing_is_written_elsewhere(&scene);
}

#[test]
fn another_users_directory_is_refused_to_root() {
    if !rustix::process::geteuid().is_root() {
        skip(Cause::Root, "only root can give a directory away");
        return;
    }
    let scene = scene();
    chown(scene.path("data"), Some(65534), Some(65534)).unwrap();
    let refused = scene.run("run short.toml --out rec").status(2);
    refused.err_has(&["belongs to user 65534", "device.foreign_owner = true"]);
    assert_eq!(fs::read_dir(scene.path("data")).unwrap().count(), 0);
    scene.run("run short.toml --out rec --set device.foreign_owner=true").status(0);
}

#[test]
fn an_output_directory_among_the_data_is_refused() {
    let scene = Scene::short();
    scene.write("kv.toml", &SHORT.replace("engine = \"null\"", "engine = \"sqlite\""));
    scene.run("run kv.toml --out rec").status(0);
    for out in ["data/primary/out", "data/writer/a/b", "data/.manometer-snapshots/x"] {
        scene.run(&format!("run short.toml --out {out}")).status(2).err_has(&[out, "choose another directory"]);
        assert!(!scene.path(out).exists());
    }
    // The database of another experiment.
    scene.write("other.toml", &SHORT.replace("\"data\"", "\"other\""));
    scene.run("run other.toml --out data/primary/out").status(2).err_has(&["holds a database"]);
    fs::create_dir(scene.path("beside")).unwrap();
    symlink(scene.path("data/primary"), scene.path("beside/link")).unwrap();
    scene.run("run other.toml --out beside/link/out").status(2).err_has(&["holds a database"]);
    scene.run("run other.toml --out data/results").status(0);
}

#[test]
fn data_that_do_not_fit_and_places_that_hold_none_are_refused_before_anything_is_written() {
    let scene = Scene::new();
    let large = SHORT.replace("records = 1000", "records = 1000000000000").replace("\"null\"", "\"sqlite\"");
    scene.write("large.toml", &large);
    scene.write("proc.toml", &SHORT.replace("\"data\"", "\"/proc\""));
    scene.write("sys.toml", &SHORT.replace("\"data\"", "\"/sys/kernel/new\""));
    for (file, why) in [("large.toml", "free"), ("proc.toml", "is in proc"), ("sys.toml", "is in sysfs")] {
        for words in ["--dry-run", "--out rec"] {
            scene.run(&format!("run {file} {words}")).status(2).err_has(&[why]);
        }
    }
    assert!(!scene.path("rec").exists() && !scene.path("data").exists());
}

#[test]
fn only_regular_files_are_read() {
    let scene = Scene::short();
    assert!(std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap().success());
    for file in ["pipe", "/dev/zero"] {
        scene.write("extends.toml", &format!("extends = \"{file}\"\n"));
        scene.write(
            "rates.toml",
            &SHORT.replace("records = 1000", &format!("records = 1000\nrate = {{ file = \"{file}\" }}")),
        );
        scene.write("own.toml", &SHORT.replace("ycsb-b", file));
        for experiment in ["extends.toml", file] {
            scene.run(&format!("run {experiment} --dry-run")).status(2).err_has(&["not a regular file"]);
        }
        for experiment in ["rates.toml", "own.toml"] {
            scene.run(&format!("run {experiment} --dry-run")).status(2);
        }
    }
}

#[test]
fn twenty_problems_of_a_file_are_listed_and_the_others_counted() {
    let scene = Scene::short();
    let keys: String = (0..16_000).map(|key| format!("key{key} = 1\n")).collect();
    scene.write("wide.toml", &format!("{keys}{SHORT}"));
    let output = scene.run("run wide.toml --dry-run").status(2);
    output.err_has(&["unknown key `key0`", "15980 more problems are not listed"]);
    scene.write("deep.toml", &format!("a = {}{}\n", "[".repeat(100_000), "]".repeat(100_000)));
    let output = scene.run("run deep.toml --dry-run").status(2);
    assert!(output.err().len() < 2_000, "{}", output.err().len());
}

/// The shipped quick experiment where everything but its own directory cannot be written.
#[test]
fn the_quick_experiment_writes_to_its_directories_only() {
    if !rustix::process::geteuid().is_root() || !installed("unshare") {
        skip(Cause::Root, "a namespace of mounts needs root");
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.path("tmp")).unwrap();
    let set = "--set plan.rounds=5 --set plan.block=500ms --set plan.washout=200ms --set interval=50ms --set plan.warmup=1s --set primary.records=20000 --set writer.file_size=16MiB";
    let line = format!(
        "TMPDIR=$PWD/tmp MANOMETER_LOCK_DIRECTORY=$PWD/tmp unshare --mount sh -c 'mount --bind . . && cd \"$PWD\" && \
         mount -o remount,bind,ro / && ! touch /var/tmp/written 2>/dev/null && \
         manometer run quick --out rec --set device.directory=data {set}'"
    );
    let ran = scene.shell(&line);
    assert!(scene.path("rec/summary.json").exists(), "{}", ran.err());
    assert_eq!(scene.json("rec/summary.json")["status"], "complete");
    assert!(!Path::new("/var/tmp/written").exists());
}
