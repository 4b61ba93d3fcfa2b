//! Errors for invalid arrangements.

use std::fs;

use manometer_cache::tier::{Arrangement, TierLoad, run};

use super::{folder, shipped};

/// The error of loading an arrangement with `text` replaced by `by`.
fn load_error(name: &str, text: &str, by: &str) -> String {
    let scratch = tempfile::tempdir().unwrap();
    for file in ["devices.toml", "workloads.toml"] {
        fs::copy(folder().join(file), scratch.path().join(file)).unwrap();
    }
    let path = scratch.path().join("arrangement.toml");
    let whole = fs::read_to_string(folder().join(name).with_extension("toml")).unwrap();
    assert!(whole.contains(text), "{name} has no `{text}`");
    fs::write(&path, whole.replace(text, by)).unwrap();
    Arrangement::load(&path).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_fix() {
    let cases = [
        ("1h", "device = \"hdd\"", "device = \"tape\"", "there is no device `tape`: there are `hdd`, `ssd`"),
        ("dmcache-1s-1h", "device = \"ssd\"", "device = \"hdx\"", "`cache.device`: there is no device `hdx`"),
        ("4h0", "count = 4", "count = 1", "an array needs two devices"),
        ("4h10", "count = 4", "count = 3", "RAID 10 needs an even `count`"),
        ("4h0", "raid = \"raid0\"", "raid = \"raid7\"", "unknown variant `raid7`"),
        ("4h0", "raid = \"raid0\"\n", "", "name a `raid`"),
        ("1h", "size = \"150GB\"", "size = \"3TB\"", "its devices hold 2000000000000"),
        ("1h", "size = \"150GB\"", "size = 0", "`origin.size` is 0"),
        ("1h", "scale = 8", "scale = 0", "`scale` is 0"),
        ("1h", "ram = \"6GB\"", "ram = \"six\"", "number of bytes"),
        ("1h", "ram = \"6GB\"", "ram = \"6GB\"\nrom = 1", "unknown field `rom`"),
        ("1h", "cores = 4", "cores = 0", "`cores`"),
        ("1h", "cores = 4", "cores = 9999", "`cores` is above 4096"),
        ("4h0", "count = 4", "count = 2000", "`origin.count` is above 1024"),
        ("1h", "cores = 4", "dirty_limit = \"5%\"", "`dirty_background` is not below"),
        ("dmcache-1s-1h", "dm-cache-mq", "opt", "cannot be `opt`"),
        ("dmcache-1s-1h", "dm-cache-mq", "lrv", "there is no policy `lrv`"),
        ("dmcache-1s-1h", "256KiB", "1000", "`block` has to be a multiple"),
        ("bcache-1s-1h", "512KiB", "1KiB", "`bucket` is smaller"),
        ("dmcache-1s-1h", "migration = \"1MiB\"", "migration = \"100KiB\"", "take at least 262144"),
        ("bcache-1s-1h", "policy = \"bcache\"", "policy = \"bcache:buckets=1024\"", "take one of the two"),
        ("bcache-1s-1h", "write-back", "write-off", "unknown variant `write-off`"),
        ("1h", "devices.toml", "nothing.toml", "cannot be read"),
    ];
    for (name, text, by, expected) in cases {
        let error = load_error(name, text, by);
        assert!(error.contains(expected), "{text} -> {by}: {error}");
    }
    let swept = load_error("1h", "\n[origin]", "\n[sweep]\ncache_to_origin = [0.1]\n\n[origin]");
    assert!(swept.contains("about a `[cache]`"), "{swept}");
    let sweep = |ratio: &str| {
        load_error("dmcache-1s-1h", "\n[origin]", &format!("\n[sweep]\ncache_to_origin = [{ratio}]\n\n[origin]"))
    };
    assert!(sweep("1.5").contains("1.5 is not above 0"));
    assert!(sweep("0.0").contains("0 is not above 0"));
}

#[test]
fn devices_that_cannot_be_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    for file in ["1h.toml", "workloads.toml"] {
        fs::copy(folder().join(file), scratch.path().join(file)).unwrap();
    }
    let devices = fs::read_to_string(folder().join("devices.toml")).unwrap();
    let cases = [
        ("rpm = 7200", "rpm = 0", "device `hdd`: `rpm` is 0"),
        ("channels = 4", "channels = 0", "device `ssd`: `channels` is 0"),
        ("spare = 0.07", "spare = 0.0", "`spare`"),
        ("span_small = \"8GB\"", "span_small = \"800GB\"", "`span_small`"),
        ("kind = \"hdd\"", "kind = \"tape\"", "unknown variant `tape`"),
    ];
    for (text, by, expected) in cases {
        assert!(devices.contains(text), "{text}");
        fs::write(scratch.path().join("devices.toml"), devices.replace(text, by)).unwrap();
        let error = Arrangement::load(&scratch.path().join("1h.toml")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn workloads_that_do_not_fit_are_refused() {
    let mut small = shipped("1h");
    small.origin.size = "10GB".parse().unwrap();
    for workload in ["fileserver", "varmail", "oltp", "read-4KiB"] {
        let error = run(&small, &TierLoad::Workload(small.workloads[workload].clone())).unwrap_err().to_string();
        assert!(error.contains("make the origin larger"), "{workload}: {error}");
    }
    let mut short = shipped("1h");
    short.scale = 256;
    let mut workload = short.workloads["oltp"].clone();
    workload.duration = Some("1us".parse().unwrap());
    let error = run(&short, &TierLoad::Workload(workload.clone())).unwrap_err().to_string();
    assert!(error.contains("before anything was measured"), "{error}");
    workload.duration = None;
    let error = run(&shipped("1h"), &TierLoad::Workload(workload.clone())).unwrap_err().to_string();
    assert!(error.contains("never ends"), "{error}");
    let mut wordy = shipped("dmcache-1s-1h");
    wordy.scale = 256;
    wordy.cache.as_mut().unwrap().metadata.bytes = "1MiB".parse().unwrap();
    let error = run(&wordy, &TierLoad::Workload(wordy.workloads["read-4KiB"].clone())).unwrap_err().to_string();
    assert!(error.contains("`metadata.bytes` is 1048576"), "{error}");
    let mut tiny = shipped("dmcache-1s-1h");
    tiny.scale = 1_000_000;
    let error = run(&tiny, &TierLoad::Workload(tiny.workloads["read-4KiB"].clone())).unwrap_err().to_string();
    assert!(error.contains("`scale` smaller"), "{error}");
}
