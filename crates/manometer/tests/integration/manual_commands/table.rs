//! The commands of the manual: how each is run in a test, or why it is not.

/// How a command of the manual runs in a test.
pub struct Command {
    /// The command as the manual has it, with single spaces and without its comment.
    pub line: &'static str,
    /// What else is shortened in it, besides [`SHORTER`].
    pub instead: &'static [(&'static str, &'static str)],
    /// The exit statuses that it may have: a gate may be undecided on a busy host.
    pub statuses: &'static [i32],
    /// What its output contains, besides what the page shows.
    pub prints: &'static [&'static str],
    /// Programs without which it does not run.
    pub needs: &'static [&'static str],
}

const fn runs(line: &'static str, prints: &'static [&'static str]) -> Command {
    Command { line, instead: &[], statuses: &[0], prints, needs: &[] }
}

impl Command {
    const fn instead(self, instead: &'static [(&'static str, &'static str)]) -> Self {
        Self { instead, ..self }
    }

    const fn ends_with(self, statuses: &'static [i32]) -> Self {
        Self { statuses, ..self }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }
}

/// What is shortened in every command.
pub const SHORTER: &[(&str, &str)] = &[
    ("--records 1000000", "--records 2000"),
    ("recordcount=1000000", "recordcount=2000"),
    ("--seconds 60", "--seconds 1"),
    ("--seconds 30", "--seconds 1"),
    ("--seconds 10", "--seconds 1"),
    ("--file-size 1GiB", "--file-size 4MiB"),
    ("/mnt/nvme", "."),
];

/// The commands that run, in the order of the pages.
pub const COMMANDS: &[Command] = &[
    runs("manometer lab faults --array mine.toml", &["ended at", "crash"])
        .instead(&[("mine.toml", "mine.toml --writes 20 --fault crash --engine rlsm --memory 256MiB --scratch .")])
        .needs(&["linux.uml", "mdadm"]),
    runs("manometer cache advise cluster52.csv.zst", &["recommendation", "policy"]),
    runs("manometer cache advise web.csv --prices prices.toml --goal 50MB/s --out advice.html", &["break-even"]),
    runs(
        "manometer cache cost arrangements/thesis.json --prices arrangements/prices-2015.toml --per-gb",
        &["Price per GB in USD", "4h0"],
    ),
    runs("manometer cache cost tier.json --prices prices.toml --years 5 --goal 'fileserver>=50MB/s'", &["fileserver"])
        .ends_with(&[0, 3]),
    runs(
        "manometer cache tier arrangements/4h0.toml arrangements/dmcache-1s-4h0.toml --workload oltp",
        &["MB/s", "dmcache-1s-4h0"],
    )
    .instead(&[("oltp", "oltp --scale 256")]),
    runs("manometer cache tier arrangements/dmcache-1s-4h0.toml --trace src1.csv.zst --threads 16", &["src1.csv.zst"]),
    runs("manometer cache tier arrangements/4h0.toml --workload oltp --scale 64 --chart oltp.html", &["oltp"]),
    runs(
        "manometer cache tier mine.toml --format json > results.json && manometer cache cost results.json --prices prices.toml",
        &["MB/s"],
    )
    .instead(&[("mine.toml", "mine.toml --workload oltp --scale 256")]),
    runs("manometer cache simulate OLTP.lis.zst --policy lru,arc --capacity 1000,2000", &["3000 requests", "arc"]),
    runs("manometer cache simulate cluster52.csv.zst --policy s3-fifo --capacity 64MiB --size-aware", &["s3-fifo"]),
    runs("manometer cache simulate keys.txt --policy lirs,lru --capacity 3 --evictions", &["lirs"]),
    runs("manometer cache curve cluster52.csv.zst --knee", &["knees"]),
    runs("manometer cache curve cluster52.csv.zst --policy lru,arc --samples 8192 --chart curves.html", &["chart: curves.html"]),
    runs("manometer cache curve web_0.csv --block-size 4KiB --working-set", &["10s"]),
    runs("manometer compare before after", &["A: before", "Verdict"]).ends_with(&[0, 4]),
    runs("manometer compare nightly/*", &["3 recordings", "Verdict"]).ends_with(&[0, 4]),
    runs("manometer compare before after --bound 3% --format json --junit pressure.xml", &["\"ratio\""]).ends_with(&[0, 4]),
    runs("manometer run pressure.toml --out \"results/$(date +%F)\" || exit 1", &["Report: results/20"]),
    runs("manometer compare results/* --junit pressure.xml", &["Verdict"])
        .instead(&[("results/*", "nightly/*")])
        .ends_with(&[0, 4]),
    runs("manometer kv --workload fillrandom --records 1000000 --key-size 16 --value-size 100", &["p99 µs"]),
    runs("manometer kv --workload readrandomwriterandom -p readwritepercent=90 --threads 4 --seconds 60", &["p99 µs"])
        .instead(&[("--threads", "--records 2000 --threads")]),
    runs(
        "manometer kv --workload readwhilewriting -p benchmark_write_rate_limit=2000000 --seconds 60 --format json",
        &["\"latency_us\""],
    )
    .instead(&[("--seconds", "--records 2000 --seconds")]),
    runs("manometer doctor /mnt/nvme", &["why it matters"]),
    runs("manometer doctor /mnt/nvme --format json", &["\"checks\""]),
    runs("manometer import ycsb run.txt READ.hdr UPDATE.hdr --out ycsb", &["Report: ycsb/report.html"])
        .instead(&[(" READ.hdr UPDATE.hdr", "")]),
    runs("manometer import db_bench bench.txt --out bench", &["Report: bench/report.html"]),
    runs("manometer import fio fio.json --out fio", &["Report: fio/report.html"]),
    runs("manometer import flags experiment.flags --out experiment.toml", &[]),
    runs("manometer io --file ./probe --file-size 1GiB --write-ratio 0.3 --iodepth 32 --seconds 10", &["CPU seconds"]),
    runs("manometer kv --workload ycsb-b --records 1000000 --threads 2 --seconds 30", &["p99 µs"]),
    runs("manometer kv -P workloada -p recordcount=1000000 --engine null --seconds 10 --format json", &["\"latency_us\""]),
    runs("manometer kv --workload ycsb-a --threads 16 --find-max --goal 'p99<=50ms' --achieved 0.95 --seconds 10", &["ops/s"])
        .instead(&[("--threads 16", "--records 2000 --engine null --threads 2")])
        .ends_with(&[0, 3, 4]),
    runs("manometer prepare my.toml --dry-run", &["Preparation"]),
    runs("manometer prepare my.toml", &["writer"]),
    runs("manometer run my.toml", &["Report: manometer-runs/"]),
    runs("manometer array status", &[]),
    runs("manometer experiments", &["quick", "thesis"]),
    runs("manometer experiments quick > my.toml", &[]).instead(&[("my.toml", "quick.toml")]),
    runs("manometer init my.toml --engine lmdb --neighbour backup --time 10m --yes", &[])
        .instead(&[("my.toml", "written.toml")]),
    runs("manometer report runs/001 --metrics /var/lib/node_exporter/textfile/manometer.prom", &["report.html"])
        .instead(&[("runs/001", "before"), ("/var/lib/node_exporter/textfile/", "")]),
    runs("manometer run experiments/real-vs-synthetic.toml --dry-run", &["real-vs-synthetic"]),
    runs(
        "manometer run experiments/real-vs-synthetic-simulated.toml --set trace=cluster52.csv.zst --set caches=[0.05,0.3]",
        &["Report"],
    ),
    runs("manometer replay cluster52.csv.zst --engine null --model open --time original --format json", &["\"fidelity\""]),
    runs("manometer replay monitor.log --engine redis --load --value-size 100 --time scaled --factor 2", &["fidelity"])
        .needs(&["redis-server"]),
    runs("manometer replay twitter.csv --engine redis --spread poisson --give-up-after 5s --require-fidelity", &["fidelity"])
        .ends_with(&[0, 3])
        .needs(&["redis-server"]),
    runs(
        "manometer replay keys.txt --engine rocksdb --model closed-unordered --time full --threads 8 --value-size 1000",
        &["p99 µs"],
    ),
    runs("manometer trace info cluster52.csv.zst", &["3000 requests", "footprint"]),
    runs("manometer trace head OLTP.lis.zst -n 20", &["operation"]),
    runs("manometer trace characterise cluster52.csv.zst", &["popularity", "replay"]),
    runs("manometer trace convert OLTP.lis.zst OLTP.parquet", &["OLTP.parquet: 3000 requests"]),
    runs("manometer watch /mnt/nvme --once", &["device"]),
    runs("manometer watch /mnt/nvme --interval 5s --format json", &["\"verdict\""]).instead(&[("5s", "1s")]),
    runs("manometer kv -P workloads/workloadb -p recordcount=1000000 --seconds 30", &["p99 µs"]),
    runs(
        "manometer kv -P workloads/workloadb -P my-sizes.properties -p recordcount=1000000 --seconds 30",
        &["p99 µs"],
    ),
    runs("manometer kv --workload ycsb-e --records 1000000 --threads 4", &["p99 µs"])
        .instead(&[("--threads 4", "--threads 4 --seconds 1")]),
    runs("manometer kv --workload ycsb-c --records 1000000 --distribution ycsb-zipfian --describe", &["exponent 0.99"]),
    runs("manometer cache curve cluster52.csv.zst --size-aware --knee", &[]),
    runs(
        "manometer replay cluster52.csv.zst --engine redis --option address=127.0.0.1:6379 --load --keep \
         --model closed-unordered --time full",
        &["fidelity"],
    )
    .instead(&[(" --option address=127.0.0.1:6379", ""), (" --keep", "")])
    .needs(&["redis-server"]),
    runs("manometer trace slice cluster52.csv.zst minute.parquet --seconds 60", &[]),
    runs("manometer replay minute.parquet --engine redis --load --spread poisson", &[]).needs(&["redis-server"]),
    runs("manometer report demo", &["Pressure scale: ", "Report: demo/report.html"]),
    runs("manometer doctor .", &["why it matters"]),
    runs("manometer run experiments/quick.toml --out quick", &["Pressure scale: ", "Verdict: "])
        .instead(&[("--out quick", SHORT_PLAN), ("BYTES", "--set writer.file_size=4MiB --out quick")]),
    runs("manometer run experiments/backup.toml --out backup", &["Pressure scale: ", "Goal "])
        .instead(&[("--out backup", SHORT_PLAN), ("BYTES", "--set backup.file_size=4MiB --out backup")])
        .ends_with(&[0, 3, 4]),
    runs("manometer run experiments/lsm-tuning.toml --out lsm", &["lsm/runs/002/report.html", "Report over all runs"]).instead(
        &[("--out", "--set primary.records=1000 --set sweep.repeats=1 --set plan.warmup=1s --set plan.phase=1s --out")],
    ),
    runs("manometer compare default tuned", &["Verdict"]).instead(&[("default tuned", "before after")]).ends_with(&[0, 4]),
    runs("manometer run pressure.toml --out before --set sweep.repeats=3", &["Report over all runs"])
        .instead(&[("before", "gate/before")]),
    runs("manometer run pressure.toml --out after --set sweep.repeats=3", &["Report over all runs"])
        .instead(&[("after", "gate/after")]),
    runs("manometer compare before after --bound 10% --junit pressure.xml", &["Verdict"])
        .instead(&[("before after", "gate/before gate/after")])
        .ends_with(&[0, 3, 4]),
];

/// The shipped experiments in a few seconds.
const SHORT_PLAN: &str = "--set primary.records=1000 --set plan.warmup=1s --set plan.rounds=5 --set plan.block=600ms --set plan.washout=200ms BYTES";

const ARRAYS: &str = "needs three disks, or a guest and some 20 s; lab.rs runs all of them in guests";
const MOUNTS: &str = "mounts a file system until it is interrupted; backpath.rs runs it";
const CLUSTER: &str = "needs the Python package and hosts; python/tests/test_cluster*.py run it";

/// The commands that do not run in a test, with the reason.
pub const NOT_RUN: &[(&str, &str)] = &[
    ("manometer array create mine.toml --origin /dev/sdb,/dev/sdc --cache /dev/nvme1n1 --mount /mnt/array", ARRAYS),
    ("manometer array destroy mine", ARRAYS),
    ("manometer lab counts requests.csv --array mine.toml --cache-share 0.05,0.2", ARRAYS),
    ("manometer lab run my-experiment.toml --array mine.toml --out recording", ARRAYS),
    ("manometer backpath mount src /mnt/src", MOUNTS),
    ("manometer backpath mount src /mnt/src --without-cache", MOUNTS),
    ("manometer backpath mount redis://127.0.0.1:6379/0 /mnt/store", MOUNTS),
    ("manometer backpath mount rlsm:photos.db /mnt/store", MOUNTS),
    ("manometer cluster run sweep.toml --local 2 --out results/sweep", CLUSTER),
    ("manometer cluster init certificates", CLUSTER),
    ("manometer cluster scheduler --listen 192.0.2.1:8786 --security certificates", CLUSTER),
    ("manometer cluster host --scheduler tls://192.0.2.1:8786 --security certificates --rules host.toml", CLUSTER),
    (
        "manometer cluster run sweep.toml --scheduler tls://192.0.2.1:8786 --security certificates --out results/sweep",
        CLUSTER,
    ),
    (
        "manometer cluster replay --scheduler tls://192.0.2.1:8786 --security certificates --clients 10 -- \
         /data/traces/cluster52.csv --engine redis --option address=db:6379 --option cluster=true",
        CLUSTER,
    ),
    (
        "manometer cluster trace 's3://traces/cluster52-*.csv.zst' --scheduler tls://192.0.2.1:8786 --security certificates \
         --scratch s3://scratch/cluster52 -- cache simulate --policy lru,arc --capacity 1GiB,2GiB,4GiB --size-aware",
        CLUSTER,
    ),
    ("manometer cluster trace day-*.csv.zst --local 2 -- trace characterise", CLUSTER),
    (
        "manometer cluster import storiks 's3://archive/*.out.xz' --scheduler tls://192.0.2.1:8786 --security certificates \
         --out slides",
        CLUSTER,
    ),
    ("manometer import storiks runs/*.out.xz --out slides", "has no small log; python/tests/test_import.py runs it"),
    ("manometer import resctl-bench result.json.gz --out resctl", "has no small result; manometer-import tests it"),
    ("manometer prepare my.toml --erase /dev/nvme1n1", "erases a disk; prepare.rs runs it on a small one"),
    (
        "manometer run experiments/real-vs-synthetic.toml --set trace=cluster52.csv.zst",
        "takes minutes; real_vs_synthetic.rs runs a small one",
    ),
    ("manometer watch /mnt/nvme", "ends with a key; watch.rs runs it"),
    (
        "sudo manometer trace capture /dev/nvme0n1 --seconds 60 --out live.blkparse",
        "traces a disk as root; trace_capture.rs runs it",
    ),
    ("manometer watch manometer-runs/a-run", "ends with a key; watch.rs runs it"),
    ("manometer run quick", "takes two minutes; `make demo` runs it"),
    (
        "manometer run quick --metrics /var/lib/node_exporter/textfile/manometer.prom",
        "takes two minutes; run.rs runs a small one",
    ),
    ("manometer init my.toml", "asks questions on a terminal; init.rs runs it with flags"),
];

/// How many do not run.
pub const NOT_RUN_COUNT: usize = 27;
