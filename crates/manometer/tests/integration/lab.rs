//! `manometer array` and `manometer lab`: real md, bcache and dm-cache in user-mode-linux.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use manometer_lab::guest::{GuestMachine, GuestTask, KERNEL, TaskOutcome};
use manometer_measure::ByteSize;
use manometer_measure::recording::Recording;
use manometer_testing::{Cause, repository_file, skip};
use serde_json::Value;

use crate::support::Scene;

/// An arrangement of `count` disks as `raid`, with the lines of `cache`.
fn arrangement(scene: &Scene, name: &str, raid: &str, count: u64, size: &str, cache: &str) {
    let origin = format!(
        "[origin]\ndevice = \"hdd\"\ncount = {count}\nraid = \"{raid}\"\nchunk = \"64KiB\"\nsize = \"{size}\"\n"
    );
    let cache = if cache.is_empty() { String::new() } else { format!("[cache]\ndevice = \"ssd\"\n{cache}") };
    let files = "devices = \"devices.toml\"\nworkloads = \"workloads.toml\"\n[host]\nram = \"1GiB\"\n";
    scene.write(name, &format!("{files}{origin}{cache}"));
    for file in ["devices.toml", "workloads.toml"] {
        fs::copy(repository_file("arrangements").join(file), scene.path(file)).unwrap();
    }
}

const BCACHE: &str = "policy = \"bcache\"\nsize = \"40MiB\"\nblock = \"4KiB\"\nbucket = \"64KiB\"\nclean_above = 0.1\n";
const DM_CACHE: &str = "policy = \"dm-cache-smq\"\nsize = \"16MiB\"\nblock = \"32KiB\"\n";

/// Whether this host can run guests with arrays; a test without them says why.
#[track_caller]
fn can_run_guests() -> bool {
    if !cfg!(target_arch = "x86_64") {
        skip(Cause::Processor, "user-mode-linux is for x86-64");
        return false;
    }
    let programs = [KERNEL, "modprobe", "mdadm", "make-bcache", "dmsetup", "mkfs.ext4", "losetup", "blkid"];
    let is_missing = |program: &&str| {
        let directories = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        !directories.iter().any(|directory| Path::new(directory).join(program).exists())
    };
    if let Some(missing) = programs.iter().find(|program| is_missing(program)) {
        skip(Cause::Program, format_args!("{missing} is not installed"));
        return false;
    }
    true
}

/// Runs the lines of `script` in a guest, in the file system of an array `lab` of the arrangement `plain.toml`. Returns what
/// they printed.
fn in_guest(scene: &Scene, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_manometer"));
    let machine = GuestMachine::new(program, &scene.path("."), ByteSize(256 << 20), Duration::from_secs(600)).unwrap();
    arrangement(scene, "plain.toml", "none", 1, "600MiB", "");
    let script = format!(
        "program={}; manometer() {{ $program \"$@\"; }}
        manometer array create {} --origin /dev/ubda --name lab --mount /run/array; cd /run/array
        {script}",
        program.display(),
        scene.path("plain.toml").display()
    );
    let words = ["sh", "-eu", "-c", &script].map(str::to_owned).to_vec();
    let log = machine.shared("log");
    let task = GuestTask::Command { words, log: log.clone() };
    let result = machine.run(&task, &[600 * MIB], &AtomicBool::new(false)).unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(result.outcome, TaskOutcome::Status(0), "{log}");
    log
}

const MIB: u64 = 1 << 20;

/// Lines that fail while anything of an array is there. A `!` would not: it never ends a script.
const NOTHING_IS_LEFT: &str = "set -x; test \"$(ls /run/manometer/arrays/*.json)\" = /run/manometer/arrays/lab.json; test -z \"$(losetup --list)\"
    test ! -e /sys/block/md100; test -z \"$(ls /sys/block | grep -E 'dm-|bcache')\"
    test -z \"$(ls /sys/fs/bcache | grep -e -)\"";

#[test]
fn arrays_of_every_kind_hold_data_and_leave_nothing() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    for (name, raid, count) in
        [("r0.toml", "raid0", 2), ("r1.toml", "raid1", 2), ("r5.toml", "raid5", 3), ("r10.toml", "raid10", 4)]
    {
        arrangement(&scene, name, raid, count, "32MiB", "");
    }
    arrangement(&scene, "bcache.toml", "raid5", 3, "32MiB", BCACHE);
    arrangement(&scene, "dm.toml", "raid0", 2, "32MiB", DM_CACHE);
    let at = scene.path(".").display().to_string();
    let script = format!(
        "try() {{ # arrangement, disks, cache
            manometer array create {at}/$1.toml --origin $2 ${{3:+--cache $3}} --name x --mount /run/array/m --file-system ext4
            head -c 3000000 /dev/urandom > m/data; sync; echo 3 > /proc/sys/vm/drop_caches
            sha256sum < m/data > 1; manometer array status x; sha256sum < m/data > 2; cmp 1 2
            manometer array destroy x
            test ! -e m; test ! -e a; test ! -e d
        }}
        try r0 a,b; try r1 a,b; try r5 a,b,c; try r10 a,b,c,d
        try bcache a,b,c d; try dm a,b d
        manometer array create {at}/bcache.toml --origin a,b,c --cache d --name x --dry-run
        test ! -e a; test \"$(ls /run/manometer/arrays)\" = lab.json
        ! manometer array create {at}/plain.toml --origin a --name lab --dry-run 2> refused; grep 'there is an array `lab`' refused
        for disk in a b c; do head -c 40M /dev/urandom > $disk; done # not new: md synchronises them
        manometer array create {at}/r5.toml --origin a,b,c --erase --name y
        cat /sys/block/md100/md/sync_action /sys/block/md100/md/degraded; manometer array destroy y; rm a b c
        {NOTHING_IS_LEFT}"
    );
    let log = in_guest(&scene, &script);
    assert_eq!(log.matches("x is taken apart.").count(), 6, "{log}");
    assert!(log.contains("idle\n0\n"), "{log}");
    assert_eq!(log.matches("is created").count(), 4, "{log}");
}

#[test]
fn what_cannot_be_built_is_undone_and_what_is_killed_can_be_destroyed() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "dm.toml", "raid0", 2, "32MiB", DM_CACHE);
    arrangement(&scene, "few.toml", "raid0", 2, "32MiB", &BCACHE.replace("64KiB", "512KiB"));
    arrangement(&scene, "bcache.toml", "raid0", 2, "32MiB", BCACHE);
    let at = scene.path(".").display().to_string();
    let script = format!(
        "fails() {{ status=0; manometer array \"$@\" 2>&1 || status=$?; echo \"status $status\"; }}
        fails create {at}/few.toml --origin a,b --cache c; ls
        fails create {at}/bcache.toml --origin a,b --cache c --mount /proc/no; ls; ls /sys/fs/bcache
        mkdir full; touch full/x; fails create {at}/bcache.toml --origin a,b --cache c --mount /run/array/full; rm -r full
        ln -s nowhere link; fails create {at}/dm.toml --origin a,link --cache c; test -L link; rm link
        truncate -s 1M l; losetup /dev/loop7 l; fails create {at}/dm.toml --origin a,l --cache c --erase; losetup -d /dev/loop7; rm l
        touch one two; ln one three; fails create {at}/dm.toml --origin one,three --cache c; rm one two three
        echo precious > p
        fails create {at}/dm.toml --origin a,p --cache c; cat p; ls
        fails create {at}/dm.toml --origin a,a --cache c
        fails create {at}/dm.toml --origin a,b
        manometer array create {at}/dm.toml --origin a,b --cache c --name one
        fails create {at}/dm.toml --origin e,f --cache g --name one
        head -c 100000 /dev/urandom > /dev/mapper/manometer-one
        fails create {at}/dm.toml --origin /dev/mapper/manometer-one,f --cache g --name two
        exec 9< /dev/mapper/manometer-one
        fails destroy one
        exec 9<&-
        manometer array status one
        manometer array destroy one
        fails destroy one
        echo > /run/manometer/arrays/bad.json; fails status; fails destroy bad; rm /run/manometer/arrays/bad.json
        for signal in INT KILL; do for after in 0.05 0.1 0.2 0.3 0.5; do
            $program array create {at}/dm.toml --origin a,b --cache c --name cut --mount /run/array/m > /dev/null 2>&1 & cut=$!
            sleep $after; kill -$signal $cut || true; wait $cut || true; sleep 0.3
            manometer array destroy cut || test ! -e /run/manometer/arrays/cut.json
            test ! -e m; test -z \"$(losetup --list)\"; test -z \"$(ls /dev/mapper | grep manometer)\"
        done; done
        {NOTHING_IS_LEFT}; ls"
    );
    let log = in_guest(&scene, &script);
    for words in [
        "bcache needs 513 buckets",
        "p: the file holds data",
        "precious",
        "given twice",
        "needs 1 devices after `--cache`, and 0 are given",
        "/proc/no",
        "the directory is not empty",
        "a link that leads nowhere",
        "/dev/loop7 uses the file",
        "bad.json: the record is damaged",
        "lab: /dev/ubda, mounted at /run/array\n",
        "there is an array `one`",
        "manometer-one: it holds data",
        "Device or resource busy",
        "one is taken apart",
        "there is no array `one`: there are `lab`",
    ] {
        assert!(log.contains(words), "`{words}` is not in:\n{log}");
    }
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.ends_with("lost+found\np\n"), "{log}");
}

#[test]
fn real_caches_hit_what_the_simulation_says() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "bcache.toml", "none", 1, "1GiB", &format!("{BCACHE}mode = \"write-through\"\n"));
    arrangement(&scene, "dm.toml", "none", 1, "1GiB", DM_CACHE);
    arrangement(&scene, "dirty.toml", "none", 1, "1GiB", &format!("{BCACHE}mode = \"write-back\"\n"));
    // To 256 MiB, a half of the requests to a twentieth of them.
    let mut state = 7_u64;
    let mut lines = String::new();
    for at in 0..60_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 33;
        let block = random % if at % 2 == 0 { 65_536 } else { 3_277 };
        let operation = if random.is_multiple_of(5) { 'W' } else { 'R' };
        writeln!(lines, "{}.{:09} ; {} ; 8 ; {operation} ; 0 ; 0", at / 1000, at % 1000 * 1_000_000, block * 8)
            .unwrap();
    }
    scene.write("trace.load", &lines);
    let flags = "--array bcache.toml,dm.toml,dirty.toml --cache-share 0.6 --memory 256MiB --scratch . --format json";
    let document = scene.run(&format!("lab counts trace.load {flags}")).status(0).json();
    let rows = document["counts"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!(row["requests"], 60_000);
        let hits = row["kernel"]["read_hits"].as_u64().unwrap() + row["kernel"]["write_hits"].as_u64().unwrap_or(0);
        assert!(hits > 5_000, "{row}");
        assert!(number("tier_error").abs() < 0.02, "{row}");
        // The policy alone does not know what is dirty.
        assert!(number("policy_error").abs() < 0.02 || row["arrangement"] == "dirty", "{row}");
    }
}

#[test]
fn an_experiment_runs_on_an_array_and_its_recording_comes_out() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "array.toml", "raid5", 3, "64MiB", BCACHE);
    scene.write(
        "e.toml",
        "name = \"small\"\ninterval = \"100ms\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"io\"\n\
         file_size = \"8MiB\"\nblock_size = \"4KiB\"\n[plan]\nwarmup = \"0s\"\nphase = \"500ms\"\n",
    );
    let run = "lab run e.toml --array array.toml --out rec --memory 256MiB --format json";
    let document = scene.run(run).status(0).json();
    assert!(document["guest"]["kernel"].as_str().unwrap().starts_with("6."), "{document}");
    let after = &document["arrays"][0]["counted"]["counters"];
    assert!(
        after["cache"]["read_hits"].as_u64().unwrap() + after["cache"]["read_misses"].as_u64().unwrap() > 0,
        "{after}"
    );
    assert_eq!(after["devices"].as_array().unwrap().len(), 4, "{after}");
    scene.run("report rec").status(0);
    assert!(!scene.path("data").exists(), "the experiment's own directory is not used");
    let left: Vec<_> = fs::read_dir(scene.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("manometer-lab")), "{left:?}");
    scene.run(run).status(2).err_has(&["rec exists"]);
}

/// One disk under each of two caches.
const SWEEP: &str = "[array]\narrangement = \"bcache.toml\"\norigin = [\"a\"]\ncache = [\"b\"]\n\
    [sweep]\n\"array.arrangement\" = [\"bcache.toml\", \"dm.toml\"]\n";

#[test]
fn a_recording_has_what_the_cache_below_it_hit_and_missed() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "bcache.toml", "none", 1, "64MiB", BCACHE);
    arrangement(&scene, "dm.toml", "none", 1, "64MiB", DM_CACHE);
    scene.write(
        "e.toml",
        "name = \"small\"\ninterval = \"100ms\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"io\"\n\
         file_size = \"8MiB\"\nblock_size = \"4KiB\"\nwrite_ratio = 0.5\n[plan]\nwarmup = \"0s\"\nphase = \"3s\"\n",
    );
    scene.write("sweep.toml", &format!("extends = \"e.toml\"\n{SWEEP}"));
    let out = scene.run("lab run sweep.toml --out set --memory 256MiB").status(0);
    out.out_has(&["The recording is in", "set/runs/001 counted", "set/runs/002 counted"]);
    for (array, run) in [("bcache", "set/runs/001"), ("dm", "set/runs/002")] {
        let counts = scene.json(&format!("{run}/array.json"));
        let counts = &counts["counters"]["cache"];
        let recording = Recording::open(&scene.path(run)).unwrap();
        let caches: Vec<_> = recording.series().into_iter().filter(|name| name.starts_with("cache.")).collect();
        let [cache] = caches.as_slice() else { panic!("{:?}", recording.series()) };
        let samples = recording.samples(cache).unwrap();
        let values = |name: &str| samples.column(name).unwrap().iter().flatten().copied().collect::<Vec<f64>>();
        assert!(!values("dirty_bytes").is_empty(), "{samples:?}");
        if array == "bcache" {
            // Its counts may have changed once in this time, or not.
            assert!(values("promotions").is_empty() && values("read_misses").len() < 3, "{samples:?}");
            continue;
        }
        let seconds: Vec<f64> = samples.t_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let sum = |name: &str| -> f64 {
            let rates = samples.column(name).unwrap();
            rates[1..].iter().zip(&seconds).map(|(rate, seconds)| rate.unwrap_or(0.0) * seconds).sum()
        };
        let recorded = ["read_hits", "read_misses", "write_hits", "write_misses"].map(sum).iter().sum::<f64>();
        let counted: f64 = ["read_hits", "read_misses", "write_hits", "write_misses"]
            .iter()
            .map(|name| counts[name].as_f64().unwrap())
            .sum();
        assert!(recorded > 0.0 && recorded <= counted, "{recorded} of {counted}: {samples:?}");
    }
}

#[test]
fn wrong_requests_to_the_laboratory_are_reported() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "plain.toml", "none", 1, "64MiB", "");
    arrangement(&scene, "lru.toml", "none", 1, "64MiB", &BCACHE.replace("bcache", "lru"));
    arrangement(&scene, "dm.toml", "none", 1, "64MiB", &DM_CACHE.replace("32KiB", "4KiB"));
    arrangement(&scene, "right.toml", "none", 1, "64MiB", DM_CACHE);
    scene.write("trace.load", "0.0 ; 8 ; 2048 ; R ; 0 ; 0\n1.0 ; 80000 ; 8 ; R ; 0 ; 0\n");
    let counts = "lab counts trace.load --memory 256MiB --scratch . --array";
    scene.run(&format!("{counts} plain.toml")).status(2).err_has(&["plain.toml", "no `[cache]`"]);
    scene.run(&format!("{counts} lru.toml")).status(2).err_has(&["Linux has no `lru`", "dm-cache-smq"]);
    scene.run(&format!("{counts} dm.toml")).status(2).err_has(&["of what the trace touches", "multiples of 32KiB"]);
    scene.run(&format!("{counts} right.toml --cache-share 0.01")).status(2).err_has(&["fewer than 4 blocks"]);
    arrangement(&scene, "mq.toml", "none", 1, "64MiB", &DM_CACHE.replace("smq", "mq"));
    scene.run(&format!("{counts} mq.toml")).status(2).err_has(&["dm-cache-mq", "dm-cache-smq"]);
    let plain = "lab counts trace.load --array right.toml --cache-share 0.9";
    scene.run(&format!("{plain} --memory 1MiB")).status(2).err_has(&["128MiB"]);
    scene.run(&format!("{plain} --scratch no")).status(2).err_has(&["no:", "cannot be there"]);
    scene.run(&format!("{counts} no.toml")).status(2).err_has(&["no.toml"]);
    scene.run(&format!("{counts} right.toml --cache-share 0.9 --time-limit 1ms")).status(1).err_has(&["--time-limit"]);
    let faults = "lab faults --memory 256MiB --scratch . --array";
    scene.run(&format!("{faults} plain.toml")).status(2).err_has(&["`plain` holds 64MiB", "256MiB"]);
    arrangement(&scene, "large.toml", "none", 1, "256MiB", "");
    scene
        .run(&format!("{faults} large.toml --fault cache-loss"))
        .status(2)
        .err_has(&["no arrangement has a `[cache]`"]);
    scene.run(&format!("{faults} plain.toml --fault flood")).status(2).err_has(&["power-cut, disk-failure"]);
    scene.run(&format!("{faults} plain.toml --engine sqlite")).status(2).err_has(&["rlsm, rocksdb"]);
    arrangement(&scene, "lru.toml", "none", 1, "256MiB", &BCACHE.replace("bcache", "lru"));
    scene.run(&format!("{faults} lru.toml")).status(2).err_has(&["Linux has no `lru`"]);
    scene.run(&format!("{faults} large.toml,../large.toml")).status(2).err_has(&["have one name"]);
    scene.run(&format!("{faults} large.toml --fault crash,crash")).status(2).err_has(&["given twice"]);
    scene.run(&format!("{faults} large.toml --seed 18446744073709551615")).status(2).err_has(&["--seed is too large"]);
    scene.run(&format!("{faults} /dev/zero")).status(2).err_has(&["/dev/zero"]);
    arrangement(&scene, "many.toml", "raid0", 9, "256MiB", "");
    scene.run(&format!("{faults} many.toml")).status(2).err_has(&["needs 18 disks for power-cut", "at most 16"]);
    let late = scene.run(&format!("{faults} large.toml --fault crash --engine rlsm --time-limit 1ms"));
    late.status(1).err_has(&["not run", "--time-limit"]).out_has(&["arrangement", "no trial ended"]);
    let swept = format!(
        "{}{SWEEP}",
        "name = \"a\"\n[device]\ndirectory = \"d\"\n[primary]\nrecords = 10\n[plan]\nphase = \"1s\"\n"
    );
    scene.write("sweep.toml", &swept);
    arrangement(&scene, "bcache.toml", "none", 1, "64MiB", BCACHE);
    arrangement(&scene, "dm.toml", "none", 1, "64MiB", DM_CACHE);
    scene
        .run("lab run sweep.toml --array dm.toml --out r")
        .status(2)
        .err_has(&["--array", "sweeps `array.arrangement`"]);
    scene.run("array create plain.toml --origin /dev/no-such-disk").status(2).err_has(&["there is no such device"]);
    scene.run("lab run no-array.toml --out r").status(2).err_has(&["no-array.toml"]);
    scene.run("lab guest").status(2).err_has(&["manometer lab run"]);
    scene.run("array create lru.toml --origin a --cache b").status(2).err_has(&["Linux has no `lru`"]);
    scene.run("array create plain.toml --origin a --name a/b").status(2).err_has(&["letters, digits"]);
    scene.run("array destroy no").status(2).err_has(&["there is no array `no`"]);
    assert!(!scene.path("a").exists());
}

#[test]
fn a_run_builds_its_array_and_takes_it_apart_also_after_a_kill() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "bcache.toml", "none", 1, "64MiB", BCACHE);
    arrangement(&scene, "dm.toml", "none", 1, "64MiB", DM_CACHE);
    arrangement(&scene, "large.toml", "none", 1, "8GiB", "");
    let experiment = "name = \"small\"\ninterval = \"100ms\"\n[device]\ndirectory = \"data\"\n[primary]\nkind = \"io\"\n\
         file_size = \"8MiB\"\nblock_size = \"4KiB\"\nwrite_ratio = 0.5\n[plan]\nwarmup = \"0s\"\nphase = \"1s\"\n";
    scene.write("e.toml", &format!("{experiment}{SWEEP}"));
    let at = scene.path(".").display().to_string();
    let script = format!(
        "e={at}/e.toml; one='--set sweep={{}} --set array.arrangement={at}/dm.toml'; export MANOMETER_LOCK_DIRECTORY=/run
        fails() {{ status=0; manometer \"$@\" 2>&1 || status=$?; echo \"status $status\"; }}
        manometer run $e --out both
        test ! -e data; test ! -e a; test ! -e b; ls both/runs/*/array.json
        truncate -s 70M a; manometer run $e --set 'array.arrangement={at}/dm.toml' --set sweep={{}} --set sweep.repeats=2 --out twice
        test $(stat -c %s a) = 73400320; test $(stat -c %b a) = 0; ln -s a l
        fails run $e $one --set 'array.origin=[\"l\"]' --out no; rm a l
        for signal in KILL INT; do
            $program run $e --set plan.phase=1h $one --out $signal > $signal.log 2>&1 & killed=$!
            until grep -q 's left' $signal.log; do sleep 0.1; done
            test -e data; fails run $e --out other
            fails run $e $one --set 'array.origin=[\"/run/o\"]' --set 'array.cache=[\"/run/c\"]' --out other
            fails run $e $one --set device.directory=data/in --set 'array.origin=[\"/run/o\"]' --set 'array.cache=[\"/run/c\"]' --out other
            test -e data/primary
            kill -$signal $killed; wait $killed || true
            test $signal = KILL || test ! -e a
        done
        $program run $e --set plan.phase=1h $one --out again > again.log 2>&1 & killed=$!
        until grep -q 's left' again.log; do sleep 0.1; done
        kill -KILL $killed; wait $killed || true; test -e /run/manometer/arrays/run-data-*.json
        manometer run $e $one --out after 2>&1
        fails prepare $e; fails run $e --reuse --out no; fails run $e $one --set primary.file_size=100MiB --out full
        echo precious > p; fails run $e --set 'array.origin=[\"p\"]' --out no; cat p; test ! -e no
        fails run $e --set array.arrangement={at}/large.toml --set 'array.origin=[\"/dev/ubda\"]' --set sweep={{}} --out no
        {NOTHING_IS_LEFT}"
    );
    let log = in_guest(&scene, &script);
    for words in [
        "both/runs/002/array.json",
        "What the array counted:",
        "is in use by another run",
        "is that of a run that has not ended",
        "it is in the array `run-data-",
        "it is a link to a file",
        "the array `run-data-",
        "which a run left when it was killed, is taken apart",
        "there is nothing to prepare",
        "--reuse: ",
        "p: the file holds data",
        "precious",
        "/dev/ubda: it has 600MiB",
        "needs 8GiB",
    ] {
        assert!(log.contains(words), "`{words}` is not in:\n{log}");
    }
    assert_eq!(log.matches("status 2").count(), 11, "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn faults_lose_what_was_not_synced_or_is_in_no_other_place_and_nothing_else() {
    if !can_run_guests() {
        return;
    }
    let scene = Scene::new();
    arrangement(&scene, "one.toml", "none", 1, "256MiB", "");
    arrangement(&scene, "two.toml", "raid1", 2, "256MiB", "");
    arrangement(&scene, "dm.toml", "none", 1, "256MiB", DM_CACHE);
    let run = "lab faults --writes 200 --memory 256MiB --scratch . --format json --engine rocksdb --array";
    let mut rows = Vec::new();
    for flags in [
        "one.toml --fault power-cut,disk-failure",
        "one.toml --fault crash --no-sync",
        "two.toml --fault disk-failure",
        "dm.toml --fault cache-loss --mode write-back,write-through",
    ] {
        let document = scene.run(&format!("{run} {flags}")).status(0).json();
        rows.extend(document["faults"].as_array().unwrap().clone());
    }
    let [power_cut, failure, unsynced, mirrored, write_back, write_through] = rows.as_slice() else {
        panic!("{rows:#?}")
    };
    for row in &rows {
        let found = &row["found"];
        assert!(found["keys"].as_u64().unwrap() > 100, "{row}");
        assert_eq!(found["wrong"], 0, "{row}");
        assert!(row["written"]["acknowledged_before"].as_u64().unwrap() >= 200, "{row}");
    }
    for row in [power_cut, mirrored, write_through] {
        assert_eq!(row["found"]["lost"], 0, "{row}");
        assert_eq!(row["found"]["failed"], Value::Null, "{row}");
    }
    for row in [failure, unsynced, write_back] {
        assert!(row["found"]["lost"].as_u64().unwrap() > 0, "{row}");
    }
    assert_eq!(failure["found"]["failed"][0], "assemble", "{failure}");
    assert!(mirrored["written"]["acknowledged_after"].as_u64().unwrap() > 0, "{mirrored}");
    let text =
        scene.run("lab faults --array one.toml --writes 50 --memory 256MiB --scratch . --fault crash --engine rlsm");
    text.status(0).out_has(&["ended at", "Linux 6.", "one"]).err_has(&["1 of 1: one, rlsm, crash, seed 1: 0 of"]);
}
