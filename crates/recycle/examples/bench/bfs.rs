//! Breadth-first search over an RMAT graph on storage, as HavoqGT in Song 2018, section 4.1.2.
//!
//! The file: the number of vertices, then for each vertex the place of its first neighbour (eight bytes each, one more
//! than vertices), then the neighbours (four bytes each).

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use crate::Settings;
use crate::usage::{Usage, waited_ns};
use crate::way::Way;

/// Edges for each vertex, each stored at both of its ends; as in Graph500.
const EDGE_FACTOR: u64 = 16;

/// Not yet reached.
const UNREACHED: u32 = u32::MAX;

/// Vertices that a thread takes at once.
const CHUNK: usize = 64;

/// Writes a graph of 2^scale vertices.
pub fn generate(path: &Path, scale: u32) {
    let vertices = 1_u64 << scale;
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(u64::from(scale));
    let edges: Vec<(u32, u32)> = (0..vertices * EDGE_FACTOR).map(|_| edge(scale, &mut chance)).collect();
    let mut starts = vec![0_u64; vertices as usize + 1];
    for (from, to) in &edges {
        starts[*from as usize + 1] += 1;
        starts[*to as usize + 1] += 1;
    }
    (0..vertices as usize).for_each(|vertex| starts[vertex + 1] += starts[vertex]);
    let mut next = starts.clone();
    let mut neighbours = vec![0_u32; edges.len() * 2];
    for (from, to) in &edges {
        for (at, other) in [(from, to), (to, from)] {
            neighbours[next[*at as usize] as usize] = *other;
            next[*at as usize] += 1;
        }
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    file.write_all(&vertices.to_le_bytes()).unwrap();
    starts.iter().for_each(|start| file.write_all(&start.to_le_bytes()).unwrap());
    neighbours.iter().for_each(|neighbour| file.write_all(&neighbour.to_le_bytes()).unwrap());
    // Whole pages, as direct I/O wants them.
    let bytes = 8 + 8 * starts.len() + 4 * neighbours.len();
    file.write_all(&vec![0; bytes.next_multiple_of(4096) - bytes]).unwrap();
    file.into_inner().unwrap().sync_all().unwrap();
}

/// An edge, by the probabilities of Graph500; vertices are permuted so that their numbers say nothing of their degrees.
fn edge(scale: u32, chance: &mut Xoshiro256PlusPlus) -> (u32, u32) {
    let (mut from, mut to) = (0_u32, 0_u32);
    for _ in 0..scale {
        let draw = chance.next_u64() % 100;
        let (down, right) = (draw >= 76, (57..76).contains(&draw) || draw >= 95);
        (from, to) = (from << 1 | u32::from(down), to << 1 | u32::from(right));
    }
    let scramble = |vertex: u32| vertex.wrapping_mul(0x9E37_79B1) & ((1_u64 << scale) - 1) as u32;
    (scramble(from), scramble(to))
}

/// What all threads did.
#[derive(Default)]
struct Tally {
    edges: AtomicU64,
    /// How long they waited for a processor.
    waited_ns: AtomicU64,
}

/// Searches from a vertex with edges.
pub fn run(path: &Path, settings: &Settings) {
    let way = Way::open(path, settings);
    let threads = settings.number("threads", 2);
    let vertices = way.read(0);
    let levels: Vec<AtomicU32> = (0..vertices).map(|_| AtomicU32::new(UNREACHED)).collect();
    let root = (0..vertices).find(|vertex| degree(&way, *vertex) > 0).unwrap();
    levels[root as usize].store(0, Ordering::Relaxed);
    let before = Usage::now(way.counters());
    let (mut frontier, mut level, tally) = (vec![root as u32], 0, Tally::default());
    while !frontier.is_empty() {
        level += 1;
        frontier = expand(&way, &frontier, &levels, level, threads, &tally);
    }
    let waited_ns = tally.waited_ns.into_inner();
    println!("{}", before.report(tally.edges.into_inner(), threads, waited_ns, way.counters()));
}

fn degree(way: &Way, vertex: u64) -> u64 {
    way.read(16 + 8 * vertex) - way.read(8 + 8 * vertex)
}

/// The vertices first reached at `level`.
fn expand(way: &Way, frontier: &[u32], levels: &[AtomicU32], level: u32, threads: u64, tally: &Tally) -> Vec<u32> {
    let next = AtomicU64::new(0);
    let neighbours = 8 + 8 * (levels.len() as u64 + 1);
    let work = || {
        let (mut reached, mut edges) = (Vec::new(), 0);
        loop {
            let first = next.fetch_add(CHUNK as u64, Ordering::Relaxed) as usize;
            let Some(chunk) = frontier.get(first..frontier.len().min(first + CHUNK)) else { break };
            for vertex in chunk {
                let place = 8 + 8 * u64::from(*vertex);
                let (start, end) = (way.read(place), way.read(place + 8));
                edges += end - start;
                way.visit(neighbours + 4 * start..neighbours + 4 * end, |bytes| {
                    for neighbour in bytes.chunks_exact(4) {
                        let neighbour = u32::from_le_bytes(neighbour.try_into().unwrap());
                        let seen = &levels[neighbour as usize];
                        let is_new = seen.load(Ordering::Relaxed) == UNREACHED
                            && seen.compare_exchange(UNREACHED, level, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                        if is_new {
                            reached.push(neighbour);
                        }
                    }
                });
            }
        }
        tally.edges.fetch_add(edges, Ordering::Relaxed);
        tally.waited_ns.fetch_add(waited_ns(), Ordering::Relaxed);
        reached
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}
