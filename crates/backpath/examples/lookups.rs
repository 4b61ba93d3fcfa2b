//! Measures look-ups from the end against look-ups from the front, and prints one JSON document.
//!
//! `lookups depth [ROUNDS] [FOLDER]`: nanoseconds per warm and per cold look-up by depth, with 1 and 2 threads, and of
//! `stat(2)` on the same paths below FOLDER. `lookups memory TRACE`: bytes per entry, with the paths of a trace.
//! `lookups permission`: nanoseconds per change of a directory's mode by the size of its subtree. `lookups trace
//! TRACE`: probes and look-ups of a trace whose keys are paths, as `manometer trace synthesise --paths` generates it.
//! `lookups redis ADDRESS`: round trips and microseconds of an open over a Redis server, by depth.

#![expect(clippy::disallowed_methods, reason = "it measures, and is no library")]
#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "it ends where anything fails")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

use backpath::{
    Attributes, Change, ComponentCache, Counts, Credentials, ForwardResolver, Kind, MemoryFileSystem, Operation,
    Options, PathCache, Query, Resolver,
};

const FILES: usize = 64;
const DEPTHS: std::ops::RangeInclusive<usize> = 1..=10;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let document = match arguments.first().map(String::as_str) {
        Some("depth") => {
            let rounds = arguments.get(1).map_or(9, |rounds| rounds.parse().unwrap());
            depth(rounds, arguments.get(2).map(Path::new))
        }
        Some("memory") => memory(&PathTrace::read(Path::new(&arguments[1]))),
        Some("permission") => permission(),
        Some("trace") => trace(&PathTrace::read(Path::new(&arguments[1]))),
        #[cfg(feature = "redis")]
        Some("redis") => redis(&arguments[1]),
        _ => panic!(
            "one of: depth [ROUNDS] [FOLDER], memory TRACE, permission, trace TRACE, redis ADDRESS (with the feature redis)"
        ),
    };
    println!("{document}");
}

/// A tree in memory with everything that looks it up.
struct Scene {
    files: MemoryFileSystem,
    paths: PathCache<Attributes>,
    components: ComponentCache<Attributes>,
    user: Credentials,
}

impl Scene {
    fn new(capacity: usize) -> Self {
        Self {
            files: MemoryFileSystem::new(),
            paths: PathCache::new(Options { capacity, ..Options::default() }),
            components: ComponentCache::new(capacity),
            user: Credentials::new(1000, 1000, &[]),
        }
    }

    /// Makes files and the directories above them that are not there.
    fn make<'a>(&self, files: impl IntoIterator<Item = &'a str>) {
        let mut made = std::collections::HashSet::new();
        let act = |operation: &Operation<'_>| self.files.act(operation, &Credentials::root(), &self.paths).unwrap();
        for file in files {
            for (end, _) in file.match_indices('/').skip(1) {
                if made.insert(file[..end].to_owned()) {
                    act(&Operation::MakeDirectory(&file.as_bytes()[..end], 0o755));
                }
            }
            act(&Operation::Create(file.as_bytes(), 0o644));
        }
    }

    fn backwards(&self, path: &str, principal: &backpath::Principal, counts: &mut Counts) {
        let found = Resolver::new(&self.paths).resolve(&Query::new(path.as_bytes()), principal, &self.files, counts);
        black_box(found.unwrap().entry.inode);
    }

    fn forwards(&self, path: &str, counts: &mut Counts) {
        let resolver = ForwardResolver::with_cache(&self.files, &self.components);
        black_box(resolver.resolve(path.as_bytes(), &self.user, true, counts).unwrap().0.inode);
    }
}

/// The names of Song 2018: a letter and the level.
fn files_at(depth: usize) -> Vec<String> {
    let above: String = (1..depth).map(|level| format!("/{}{level}", char::from(b'a' + level as u8 - 1))).collect();
    (0..FILES).map(|file| format!("{above}/file{file}")).collect()
}

/// The nanoseconds per look-up of all files, by each of so many threads at once.
fn time(threads: usize, turns: usize, look_up: &(impl Fn(usize) + Sync)) -> f64 {
    let gate = Barrier::new(threads);
    let one = || {
        gate.wait();
        let start = Instant::now();
        for _ in 0..turns {
            (0..FILES).for_each(look_up);
        }
        start.elapsed().as_nanos() as f64 / (turns * FILES) as f64
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        let times: Vec<f64> =
            std::iter::once(one()).chain(others.into_iter().map(|other| other.join().unwrap())).collect();
        times.iter().sum::<f64>() / threads as f64
    })
}

fn depth(rounds: usize, folder: Option<&Path>) -> String {
    let mut measured: HashMap<(&str, usize, usize), Vec<f64>> = HashMap::new();
    for _ in 0..rounds {
        for depth in DEPTHS {
            let files = files_at(depth);
            let scene = Scene::new(10_000);
            scene.make(files.iter().map(String::as_str));
            let principal = scene.paths.principal(&scene.user);
            let backwards = |file: usize| scene.backwards(&files[file], &principal, &mut Counts::default());
            let forwards = |file: usize| scene.forwards(&files[file], &mut Counts::default());
            let mut keep = |name, threads, nanoseconds| {
                measured.entry((name, threads, depth)).or_default().push(nanoseconds);
            };
            keep("backwards cold", 1, time(1, 1, &backwards));
            keep("forwards cold", 1, time(1, 1, &forwards));
            for threads in [1, 2] {
                keep("backwards", threads, time(threads, 2_000, &backwards));
                keep("forwards", threads, time(threads, 1_000, &forwards));
            }
            if let Some(folder) = folder {
                let real: Vec<std::path::PathBuf> = files.iter().map(|file| folder.join(&file[1..])).collect();
                for file in &real {
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(file, b"").unwrap();
                }
                let names: Vec<_> = files.iter().map(|file| std::ffi::CString::new(&file[1..]).unwrap()).collect();
                std::env::set_current_dir(folder).unwrap();
                keep("stat", 1, time(1, 500, &|file| stat(&names[file])));
            }
        }
    }
    let mut rows: Vec<_> = measured.into_iter().collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    let mut document = String::from("{\"unit\":\"ns per look-up\",\"rows\":[");
    for (index, ((name, threads, depth), mut values)) in rows.into_iter().enumerate() {
        values.sort_by(f64::total_cmp);
        let comma = if index == 0 { "" } else { "," };
        let (median, least, most) = (values[values.len() / 2], values[0], values[values.len() - 1]);
        write!(
            document,
            "{comma}{{\"what\":\"{name}\",\"threads\":{threads},\"depth\":{depth},\"median\":{median:.1},\"min\":{least:.1},\
             \"max\":{most:.1},\"runs\":{}}}",
            values.len()
        )
        .unwrap();
    }
    document + "]}"
}

/// One call of `stat(2)` on a path relative to the working directory, as the kernel has it.
fn stat(path: &std::ffi::CStr) {
    black_box(rustix::fs::stat(path).unwrap());
}

/// The accesses of a trace whose keys are paths.
struct PathTrace {
    /// The paths, in the order of their first access.
    files: Vec<String>,
    /// The accesses, each by the place of its path.
    order: Vec<u32>,
}

impl PathTrace {
    /// Reads a trace in any format that keeps the keys' texts.
    fn read(file: &Path) -> Self {
        let options = manometer_trace::ReadOptions { keep_keys: true, ..Default::default() };
        let mut reader = manometer_trace::open(file, &options).unwrap().reader;
        let (mut places, mut batch) = (HashMap::new(), Vec::new());
        let mut trace = Self { files: Vec::new(), order: Vec::new() };
        while reader.read(&mut batch).unwrap() > 0 {
            for record in &batch {
                let place = *places.entry(record.key).or_insert_with(|| {
                    let path =
                        reader.keys().and_then(|keys| keys.text(record.key)).expect("a trace with its keys' texts");
                    trace.files.push(String::from_utf8(path.to_vec()).unwrap());
                    trace.files.len() as u32 - 1
                });
                trace.order.push(place);
            }
        }
        trace
    }
}

fn memory(trace: &PathTrace) -> String {
    let files = &trace.files;
    let scene = Scene::new(1 << 20);
    scene.make(files.iter().map(String::as_str));
    let names: usize = files.iter().map(String::len).sum();
    let mut kept = (0, 0);
    let forwards = allocation_counter::measure(|| {
        let components = ComponentCache::new(150_000);
        let resolver = ForwardResolver::with_cache(&scene.files, &components);
        for file in files {
            resolver.resolve(file.as_bytes(), &scene.user, true, &mut Counts::default()).unwrap();
        }
        kept.0 = components.len();
        std::mem::forget(components);
    });
    let backwards = allocation_counter::measure(|| {
        let paths = PathCache::new(Options { capacity: 150_000, ..Options::default() });
        let principal = paths.principal(&scene.user);
        for file in files {
            let query = Query::new(file.as_bytes());
            Resolver::new(&paths).resolve(&query, &principal, &scene.files, &mut Counts::default()).unwrap();
        }
        kept.1 = paths.len();
        std::mem::forget(paths);
    });
    let (front, end) = (forwards.bytes_current, backwards.bytes_current);
    let per_entry = |bytes: i64, entries: usize| bytes as f64 / entries as f64;
    format!(
        "{{\"files\":{},\"mean_path_bytes\":{:.1},\"forwards\":{{\"entries\":{},\"bytes_per_entry\":{:.1}}},\
         \"backwards\":{{\"entries\":{},\"bytes_per_entry\":{:.1}}},\"ratio\":{:.3}}}",
        files.len(),
        names as f64 / files.len() as f64,
        kept.0,
        per_entry(front, kept.0),
        kept.1,
        per_entry(end, kept.1),
        per_entry(end, kept.1) / per_entry(front, kept.0)
    )
}

/// As in Song 2018: entries know what is below them, and a change of permission clears every list there.
struct Walked {
    lists: Vec<[u32; 5]>,
    below: Vec<Vec<usize>>,
}

impl Walked {
    fn clear_below(&mut self, entry: usize) {
        let mut left = self.below[entry].clone();
        while let Some(entry) = left.pop() {
            self.lists[entry] = [0; 5];
            left.extend_from_slice(&self.below[entry]);
        }
    }
}

fn permission() -> String {
    let mut rows = Vec::new();
    for size in [1, 10, 100, 1_000, 10_000, 100_000] {
        let cache = PathCache::new(Options { capacity: 2 * size + 100, ..Options::default() });
        let user = cache.principal(&Credentials::new(1, 1, &[]));
        let entry = Attributes::new(1, Kind::File, 0o644, 0, 0);
        let mut walked = Walked { lists: vec![[1; 5]], below: vec![Vec::new()] };
        for number in 0..size {
            let path = format!("/top/{}/{number}", number / 100);
            cache.insert(cache.ticket(path.as_bytes()), path.as_bytes(), Some(&entry), &user);
            if number % 100 == 0 {
                let directory = walked.below.len();
                walked.below[0].push(directory);
                walked.below.push(Vec::new());
                walked.lists.push([1; 5]);
            }
            let (directory, file) = (*walked.below[0].last().unwrap(), walked.below.len());
            walked.below[directory].push(file);
            walked.below.push(Vec::new());
            walked.lists.push([1; 5]);
        }
        let turns = (2_000_000 / (size + 100)).max(20);
        let start = Instant::now();
        for _ in 0..turns {
            cache.change(&[Change::Permission(b"/top")], || ()).unwrap();
        }
        let epochs = start.elapsed().as_nanos() as f64 / turns as f64;
        let start = Instant::now();
        for _ in 0..turns {
            walked.clear_below(black_box(0));
        }
        let walk = start.elapsed().as_nanos() as f64 / turns as f64;
        black_box(&walked.lists);
        rows.push(format!("{{\"below\":{size},\"epoch_ns\":{epochs:.1},\"walk_ns\":{walk:.1}}}"));
    }
    format!("{{\"rows\":[{}]}}", rows.join(","))
}

fn trace(trace: &PathTrace) -> String {
    let files = &trace.files;
    let lines: Vec<&str> = trace.order.iter().map(|&file| files[file as usize].as_str()).collect();
    let scene = Scene::new(1 << 20);
    scene.make(files.iter().map(String::as_str));
    let principal = scene.paths.principal(&scene.user);
    let (mut front, mut end) = ((0_u64, 0_u64), (0_u64, 0_u64));
    let start = Instant::now();
    for &path in &lines {
        let mut counts = Counts::default();
        scene.forwards(path, &mut counts);
        front = (front.0 + u64::from(counts.probes), front.1 + u64::from(counts.lookups));
    }
    let front_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for &path in &lines {
        let mut counts = Counts::default();
        scene.backwards(path, &principal, &mut counts);
        end = (end.0 + u64::from(counts.probes), end.1 + u64::from(counts.lookups));
    }
    let end_s = start.elapsed().as_secs_f64();
    let depth = lines.iter().map(|path| path.matches('/').count()).sum::<usize>() as f64 / lines.len() as f64;
    format!(
        "{{\"requests\":{},\"files\":{},\"mean_depth\":{depth:.2},\"forwards\":{{\"probes\":{},\"slow\":{},\"seconds\":{front_s:.3}}},\
         \"backwards\":{{\"probes\":{},\"slow\":{},\"seconds\":{end_s:.3}}},\"probes_ratio\":{:.3},\"time_ratio\":{:.3}}}",
        lines.len(),
        files.len(),
        front.0,
        front.1,
        end.0,
        end.1,
        front.0 as f64 / end.0 as f64,
        front_s / end_s
    )
}

/// An open by a client with a cache, warm and cold, and by one without.
#[cfg(feature = "redis")]
fn redis(address: &str) -> String {
    use backpath::metadata::{MetadataStore, RedisKeyValue};
    const OPENS: u64 = 2_000;
    let connect = || RedisKeyValue::connect(address, "backpath-bench:").unwrap();
    let store = MetadataStore::open_on(connect(), Options::default()).unwrap();
    let (root, user) = (Credentials::root(), Credentials::new(1000, 1000, &[]));
    let mut path = String::new();
    let mut rows = Vec::new();
    for depth in DEPTHS {
        let file = format!("{path}/file");
        store.act(&Operation::Create(file.as_bytes(), 0o644), &root, 0).unwrap();
        let mut measure = |what: &str, opens: u64, open: &dyn Fn(&MetadataStore<RedisKeyValue>)| {
            let client = MetadataStore::open_on(connect(), Options::default()).unwrap();
            if what == "warm" {
                open(&client);
            }
            let (before, start) = (client.round_trips(), Instant::now());
            (0..opens).for_each(|_| open(&client));
            let microseconds = start.elapsed().as_secs_f64() * 1e6 / opens as f64;
            let trips = (client.round_trips() - before) as f64 / opens as f64;
            rows.push(format!(
                "{{\"what\":\"{what}\",\"depth\":{depth},\"round_trips\":{trips},\"us\":{microseconds:.1},\"opens\":{opens}}}"
            ));
        };
        let open =
            |client: &MetadataStore<RedisKeyValue>| drop(client.open(&Query::new(file.as_bytes()), &user).unwrap());
        measure("cold", 1, &open);
        measure("warm", OPENS, &open);
        measure("without a cache", OPENS, &|client| drop(client.open_from_the_front(file.as_bytes(), &user).unwrap()));
        path = format!("{path}/directory-{depth}");
        store.act(&Operation::MakeDirectory(path.as_bytes(), 0o755), &root, 0).unwrap();
    }
    format!("{{\"rows\":[{}]}}", rows.join(","))
}
