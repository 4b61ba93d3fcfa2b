//! Small inputs under the names that the manual uses.

use std::fs;
use std::path::Path;

use manometer_testing::repository_file;
use serde_json::{Value, json};

use crate::support::{SHORT, Scene};

/// A directory with all inputs.
pub fn scene() -> Scene {
    let scene = Scene::new();
    traces(&scene);
    results(&scene);
    settings(&scene);
    for folder in ["arrangements", "experiments"] {
        copy(&repository_file(folder), &scene.path(folder));
    }
    scene
}

/// Files of settings and prices.
fn settings(scene: &Scene) {
    for name in ["my.toml", "pressure.toml"] {
        scene.write(name, SHORT);
    }
    let copies = [
        ("prices-2026.toml", "prices.toml"),
        ("4h0.toml", "mine.toml"),
        ("devices.toml", "devices.toml"),
        ("workloads.toml", "workloads.toml"),
    ];
    for (from, to) in copies {
        fs::copy(repository_file("arrangements").join(from), scene.path(to)).unwrap();
    }
    let level = |device: &str, bytes: u64| json!({ "device": device, "count": 1, "bytes": bytes, "raid": null });
    let result = |name: &str, mb_per_s: f64, cache: Value| {
        json!({ "arrangement": name, "workload": "fileserver", "mb_per_s": mb_per_s, "requests_per_s": null,
            "origin": level("hdd", 500_000_000_000), "cache": cache, "ssd_bytes_written": null, "seconds": null })
    };
    let results = [result("1h", 20.0, Value::Null), result("cached", 60.0, level("ssd", 100_000_000_000))];
    scene.write("tier.json", &json!({ "results": results }).to_string());
    fs::create_dir(scene.path("workloads")).unwrap();
    let workload = "workload=site.ycsb.workloads.CoreWorkload\nreadproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian\n";
    scene.write("workloads/workloadb", workload);
    scene.write("my-sizes.properties", "fieldcount=1\nfieldlength=100\n");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// The key of a request: popular ones again and again, others once.
fn key(number: u64) -> u64 {
    if number.is_multiple_of(3) { 1_000 + number } else { number * number % 97 }
}

fn lines(line: impl Fn(u64) -> String) -> String {
    (0..3_000).map(line).collect()
}

fn traces(scene: &Scene) {
    let cluster52 = lines(|number| format!("{},{},{},-2\n", number / 1500, key(number), 100 + key(number) % 900));
    scene.write("cluster52.csv.zst", &format!("# time, object, size, next_access_vtime\n{cluster52}"));
    scene.write("OLTP.lis.zst", &lines(|number| format!("{} 1 0 {number}\n", key(number))));
    scene.write("keys.txt", &lines(|number| format!("{}\n", key(number))));
    scene.write(
        "web.csv",
        &format!("time,key,size,op\n{}", lines(|n| format!("{}.{:03},{},4096,get\n", n / 1000, n % 1000, key(n)))),
    );
    // MSR Cambridge: time in 100 ns, host, disk, type, offset, size, response time.
    let msr = |number: u64| {
        let kind = if number.is_multiple_of(4) { "Write" } else { "Read" };
        format!("{},web,0,{kind},{},4096,1000\n", 128_166_372_003_061_629 + number * 100_000, key(number) * 4096)
    };
    scene.write("web_0.csv", &lines(msr));
    scene.write("src1.csv.zst", &lines(msr));
    // Twitter: time, key, key size, value size, client, operation, time to live.
    scene.write("twitter.csv", &lines(|number| format!("{},k{:09},10,{},1,get,0\n", number / 1000, key(number), 100)));
    let monitor = |n: u64| format!("1700000000.{:06} [0 127.0.0.1:50000] \"GET\" \"user{}\"\n", n * 300, key(n));
    scene.write("monitor.log", &lines(monitor));
}

/// Results of other tools, and recordings made of them.
fn results(scene: &Scene) {
    let samples = repository_file("crates/manometer-workload/src/command/parser/samples");
    for (sample, name) in [("ycsb-java.txt", "run.txt"), ("db_bench.txt", "bench.txt"), ("fio.txt", "fio.json")] {
        fs::copy(samples.join(sample), scene.path(name)).unwrap();
    }
    scene.write(
        "experiment.flags",
        "--num_ydbs=1\n--ydb_num_keys=1000\n--ydb_workload=workloadb\n--duration=15\n--warm_period=5\n--num_at=0\n",
    );
    fs::create_dir(scene.path("nightly")).unwrap();
    let rates = [("before", 100), ("after", 101), ("nightly/1", 100), ("nightly/2", 102), ("nightly/3", 99)];
    for (name, rate) in rates {
        scene.write("one.txt", &crate::import::db_bench(rate));
        scene.run(&format!("import db_bench one.txt --out {name}")).status(0);
    }
}
