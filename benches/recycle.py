#!/usr/bin/env python3
"""Ways to use a file larger than memory, in alternation, in a memory cgroup: the kernel's `mmap`, plain and with
`madvise(MADV_RANDOM)` or `MADV_SEQUENTIAL`, `pread` past the page cache, and `recycle` with pin and map; and the
file in memory, without a limit. Reads and writes of a word of a page, in order and not, by one thread and more, of files
four and eight times the memory, as in Song 2018, figures 2.1, 4.1 and 4.2; then breadth-first search over an RMAT graph,
as in figure 4.3 and table 4.3. On the disk of this folder and, as root and where it is unused, on a file system on
`/dev/zram0`, whose device is memory: there the software is what is measured.

Every way has the same limit in all. `recycle` has a budget below it, so that its tables and buffers fit, too."""

import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import bench
import peers

MIB = peers.MIB
LIMIT = 128 * MIB
# What the program, its page tables and its buffers need beside the pages of the file.
BUDGET = LIMIT - 28 * MIB
PROGRAM = bench.TARGET / "release" / "examples" / "bench"
ZRAM = Path("/sys/block/zram0")
RANDOM_WAYS = ["mmap", "mmap-random", "pread", "pin", "map"]
SEQUENTIAL_WAYS = ["mmap", "mmap-sequential", "pread", "pin", "map"]
GOALS = {"pin": 2.0, "map": 1.3}


def threads() -> list:
    return [int(text) for text in os.environ.get("THREADS", "1,2,4,8").split(",")]


def measure(verb: str, path: Path, enter, **settings) -> dict:
    """One run of the measuring program, in the cgroup that `enter` enters."""
    words = [f"{name}={value}" for name, value in settings.items()]
    return bench.run_json([str(PROGRAM), verb, str(path), *words], enter)


def accesses(way: str, pattern: str, write: int, is_fast: bool) -> int:
    """So many that memory is recycled more than once, and no run takes long."""
    if pattern == "sequential":
        return 200_000 if is_fast and way != "pread" else 60_000
    # Plain mmap reads up to 128 KiB around a fault of a read.
    return 6_000 if way == "mmap" and not write else 60_000 if is_fast else 30_000


def warmup(way: str, pattern: str, write: int) -> int:
    """So many that memory is full before the clock starts."""
    pages = LIMIT // 4096
    return pages // 16 if way == "mmap" and pattern == "random" and not write else pages


def summary(runs: list) -> dict:
    """What is kept of the runs of one way: the rate and its spread, and where the time went."""
    rates = [run["accesses_per_second"] for run in runs]
    middle = statistics.median(rates)
    per_access = lambda name: statistics.median([run[name] / run["accesses"] for run in runs])
    kept = {"accesses_per_second": bench.spread(rates),
            "deviation": statistics.stdev(rates) / statistics.mean(rates) if len(rates) > 1 else None,
            "share_asleep": statistics.median([run["share_asleep"] for run in runs]),
            "user_us": 1e6 * per_access("user_s"), "system_us": 1e6 * per_access("system_s"),
            "voluntary_switches_per_access": per_access("voluntary_switches"), "median": middle}
    counted = [name for name in runs[0] if name in ("faults", "write_faults", "recyclings", "pages_recycled",
                                                    "background_reclaims", "foreground_reclaims", "pages_read", "pages_written")]
    return kept | {name: statistics.median([run[name] for run in runs]) for name in counted}


def alternate(ways: list, run, rounds: int) -> dict:
    """Lets every way run once a round, each round begun by another one."""
    runs = {way: [] for way in ways}
    for number in range(rounds):
        first = number % len(ways)
        for way in ways[first:] + ways[:first]:
            runs[way].append(run(way, number))
    return {way: summary(of_way) for way, of_way in runs.items()}


def show(label: str, ways: dict, base: str = "mmap") -> None:
    for way, kept in ways.items():
        rate = kept["accesses_per_second"]
        print(f"{label:44} {way:16} {rate['median']:>11,.0f}/s ({rate['min']:,.0f} to {rate['max']:,.0f}), "
              f"{kept['median'] / ways[base]['median']:6.2f} x {base}, asleep {kept['share_asleep']:.2f}, "
              f"{kept['voluntary_switches_per_access']:.3f} switches an access", flush=True)


def scans(path: Path, device: str, times: int, is_fast: bool, enter, rounds: int) -> list:
    results = []
    for pattern, ways in (("random", RANDOM_WAYS), ("sequential", SEQUENTIAL_WAYS)):
        for write in (0, 1):
            for count in threads():
                run = lambda way, seed: measure(
                    "scan", path, enter, way=way, pattern=pattern, write=write, threads=count, memory=BUDGET, seed=seed + 1,
                    accesses=accesses(way, pattern, write, is_fast), warmup=warmup(way, pattern, write))
                kept = alternate(ways, run, rounds)
                label = f"{device} {times}x {pattern} {'write' if write else 'read'} {count} threads"
                show(label, kept)
                results.append({"device": device, "times": times, "pattern": pattern, "write": bool(write),
                                "threads": count, "ways": kept})
    return results


def variants(path: Path, enter, rounds: int) -> list:
    """The batch swept, the policies and the replacements, by random writes of two threads."""
    choices = ([("batch", size) for size in (1, 4, 8, 16, 32, 64, 128)] + [("policy", name) for name in ("cor", "fr", "fp")]
               + [("replacement", name) for name in ("clock", "lru", "cflru")])
    results = []
    for way in ("pin", "map"):
        run = lambda choice, seed: measure("scan", path, enter, way=way, pattern="random", write=1, threads=2, memory=BUDGET,
                                           seed=seed + 1, accesses=60_000, warmup=warmup(way, "random", 1), **dict([choice]))
        for choice, kept in alternate(choices, run, rounds).items():
            results.append({"way": way, choice[0]: choice[1], **kept})
            print(f"{way} {choice[0]} {choice[1]}: {kept['median']:,.0f}/s", flush=True)
    return results


def search(folder: Path, device: str, enter, rounds: int) -> dict:
    """Breadth-first search; `memory` is the same search with the graph in memory and no limit."""
    path, scale = folder / "graph", int(os.environ.get("SCALE", "21"))
    subprocess.run([str(PROGRAM), "graph", str(path), str(scale)], check=True)
    run = lambda way, _: measure("bfs", path, None if way == "memory" else enter, way=way, threads=os.cpu_count(),
                                 memory=BUDGET)
    kept = alternate(["memory", "mmap", "mmap-random", "pin", "map"], run, rounds)
    show(f"{device} breadth-first search, edges", kept)
    document = {"device": device, "scale": scale, "bytes": path.stat().st_size, "ways": kept}
    path.unlink()
    return document


@contextmanager
def zram():
    """A file system on memory, undone afterwards; None where that is not possible."""
    if os.geteuid() != 0 or not ZRAM.exists() or (ZRAM / "initstate").read_text().strip() != "0":
        print("no fast device: /dev/zram0 is absent or in use, or this is not root", file=sys.stderr)
        yield None
        return
    (ZRAM / "disksize").write_text(str(3 << 30))
    with tempfile.TemporaryDirectory(prefix="manometer-zram-") as folder:
        try:
            subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard", "/dev/zram0"], check=True)
            subprocess.run(["mount", "/dev/zram0", folder], check=True)
            try:
                yield Path(folder)
            finally:
                subprocess.run(["umount", folder], check=True)
        finally:
            (ZRAM / "reset").write_text("1")


def main() -> None:
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "recycle", "--example", "bench"],
                   check=True, cwd=bench.ROOT)
    rounds, times = bench.pairs(), [int(text) for text in os.environ.get("TIMES", "4,8").split(",")]
    with zram() as fast, tempfile.TemporaryDirectory(dir=bench.ROOT, prefix="manometer-data-") as disk, \
            peers.memory_limit(LIMIT) as enter:
        about = {"about": __doc__.strip(), "machine": bench.machine(Path(disk)), "limit_bytes": LIMIT, "budget_bytes": BUDGET}
        devices = {"zram": fast, "disk": Path(disk)}
        for part in os.environ.get("PARTS", "zram,variants,disk,search,search_disk").split(","):
            found = {"variants": lambda: {"results": swept(fast, times[0], enter, rounds)},
                     "search": lambda: {"results": [search(fast, "zram", enter, rounds)]},
                     "search_disk": lambda: {"results": [search(devices["disk"], "disk", enter, rounds)]},
                     "zram": lambda: on_device("zram", fast, times, enter, rounds),
                     "disk": lambda: on_device("disk", devices["disk"], times, enter, rounds)}[part]
            if fast or part in ("disk", "search_disk"):
                bench.write(f"recycle_{part}", about | found())


@contextmanager
def filled(folder: Path, times: int):
    """A file of random bytes, so many times the memory."""
    path = folder / "file"
    subprocess.run([str(PROGRAM), "fill", str(path), str(times * LIMIT)], check=True)
    yield path
    path.unlink()


def on_device(device: str, folder: Path, times: list, enter, rounds: int) -> dict:
    results = []
    for factor in times:
        with filled(folder, factor) as path:
            results += scans(path, device, factor, device == "zram", enter, rounds)
    goals = [verdict(one, way, goal) for one in results if one["pattern"] == "random"
             and one["threads"] == os.cpu_count() for way, goal in GOALS.items()]
    return {"goals": goals if device == "zram" else [], "results": results}


def swept(folder: Path, times: int, enter, rounds: int) -> list:
    with filled(folder, times) as path:
        return variants(path, enter, rounds)


def verdict(one: dict, way: str, goal: float) -> dict:
    """Whether a goal was reached, against both of the kernel's ways."""
    rate = one["ways"][way]["median"]
    ratios = {base: rate / one["ways"][base]["median"] for base in ("mmap", "mmap-random")}
    label = f"{way} {one['times']}x {'write' if one['write'] else 'read'}"
    print(f"{label}: {ratios['mmap']:.2f} x mmap, {ratios['mmap-random']:.2f} x mmap with MADV_RANDOM, goal {goal} x mmap "
          f"{'reached' if ratios['mmap'] >= goal else 'missed'}", flush=True)
    return {"label": label, "goal": goal, "ratios": ratios, "reached": ratios["mmap"] >= goal}


if __name__ == "__main__":
    sys.exit(main())
