#!/usr/bin/env python3
"""Writes the gallery: every chart from real data, as docs/gallery.md with pictures and as one page.

    python/tools/generate_gallery.py DATA PAGE.html

DATA has the Storiks recordings (`storiks/`) and traces (`traces/`) that the tests use too. This script measures the
rest in twenty minutes: runs with a neighbour in a closed and in an open loop, databases that grow, a replay, the
search for an engine's highest rate, Redis and memcached under a trace. PAGE.html draws all charts as the report does,
light or dark, narrow or wide, on paper too. Run it with the package installed, `manometer` on the path, and this
repository as the current directory.
"""

# pyright: basic
from __future__ import annotations

import binascii
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import manometer
import numpy as np
from manometer.plot import _draw
from PIL import Image

DOCS = Path("docs").resolve()
ARRANGEMENTS = Path("arrangements").resolve()
REQUESTS = 300_000
SLOTS = 16_384
RATES = "kv --workload ycsb-b --records 100000 --threads 8 --find-max --goal p99<=2ms --dir rates --out rates.html"
# As the report writes a chart.
FIGURE = re.compile(r'<section class="chart".*?<figure data-chart="([a-z-]+)">.*?</section>', re.DOTALL)
DATA = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
MIB = 1 << 20
# Of a picture: all of them make it three times as large.
COLOURS = 128

ABOUT = """\
Every chart, drawn from real data:

- recordings of the author of Storiks, on a Samsung 970 EVO Plus and a 980 PRO;
- runs that `make gallery` measured on its own host (for the page in the repository on a virtual disk): RocksDB with a
  writer as its neighbour, databases that grow, a replay, Redis and memcached;
- traces of Twitter's caches, of the disks of CloudPhysics, and of a web server;
- for tiers, simulations of the arrangements of dos Santos 2015, next to its own results.

Works are cited as in [origins.md](origins.md). Here `manometer.plot` draws the charts ([python.md](python.md)). The
[report](report.md) draws the same files, light or dark, on screens of any width and on paper. `make gallery DATA=...`
writes this page, and `gallery.html`, which draws the charts as the report does."""

OWN = """
name = "RocksDB with a writer"
interval = "200ms"
criterion = "response.read.p99"
[device]
directory = "own"
[primary]
engine = "rocksdb"
workload = "ycsb-a"
records = 200_000
rate = 4000
arrivals = "poisson"
threads = 8
options = { use_direct_reads = true }
isolation = "cgroup"
[[neighbour]]
name = "writer"
kind = "io"
isolation = "cgroup"
file_size = "1GiB"
block_size = "64KiB"
write_ratio = 0.5
random_ratio = 1.0
[plan]
solo = true
solo_warmup = "2s"
warmup = "10s"
phase = "20s"
vary = { "writer.iodepth" = [1, 4, 16] }
"""

# The same in a closed loop, so that the throughput shows the interference.
CLOSED = "".join(line for line in OWN.splitlines(True) if not line.startswith(("criterion", "rate", "arrivals")))

# The same in short blocks, round after round.
INTERLEAVED = (
    CLOSED[: CLOSED.index("[plan]")]
    + """
[plan]
design = "interleaved"
warmup = "10s"
rounds = 20
block = "1400ms"
washout = "400ms"
vary = { "writer.iodepth" = [1, 4, 16] }
"""
)

# Engines under inserts alone, with small memtables, so that they compact while they grow.
INSERTS = """
recordcount=100000
insertproportion=1
readproportion=0
updateproportion=0
fieldcount=1
fieldlength=400
"""
GROWING = {
    "rocksdb": 'write_buffer_size = "2MiB", target_file_size_base = "2MiB", max_bytes_for_level_base = "8MiB"',
    "rlsm": 'memtable_bytes = "2MiB"',
}
GROW = """
name = "ENGINE"
interval = "200ms"
[device]
directory = "grow-ENGINE"
[primary]
engine = "ENGINE"
workload = "inserts.properties"
rate = 20_000
threads = 4
options = { OPTIONS }
[plan]
phase = "40s"
"""

REPLAY = """
name = "a trace with a writer"
interval = "1s"
criterion = "response.read.p99"
[device]
directory = "replayed"
[primary]
engine = "rocksdb"
workload = { trace = "web.csv", time = "scaled", factor = 20 }
threads = 16
[[neighbour]]
name = "writer"
kind = "io"
file_size = "256MiB"
write_ratio = 0.5
[plan]
warmup = "4s"
phase = "20s"
vary = { "writer.iodepth" = [16] }
"""

REAL_VS_SYNTHETIC = """
kind = "real-vs-synthetic"
name = "real against synthetic load"
directory = "caches"
trace = "part.csv"
value_size = 1000
engines = ["redis", "memcached"]
caches = [0.2, 0.6, 1.0]
repeats = 2
threads = 4
nodes = 10
[slabs]
memory = "32MiB"
chunk_max = "16KiB"
"""


def output(*words: object) -> str:
    """The program's output."""
    return subprocess.run(["manometer", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout


def document(*words: object) -> Any:
    """The same as a JSON document."""
    return json.loads(output(*words, "--format", "json"))


def imported(data: Path, name: str, primaries: str, kernels: str, sizes: tuple[int, ...]) -> Path:
    """The page of the Storiks recordings of these primaries, kernels and block sizes [KiB]."""
    found = [
        path
        for primary in primaries
        for kernel in kernels
        for size in sizes
        for path in (data / "storiks" / "pressure1").glob(f"07_k50{kernel}_*workload{primary}-at3_bs{size}_*.out.xz")
    ]
    output("import", "storiks", *found, "--out", name)
    return Path(name, "report.html")


def pages(data: Path) -> list[tuple[Path, set[str]]]:
    """The pages with the charts, and the charts to take from each (an empty set: all); the first page with one wins.
    Writes into the current directory."""
    trace = data / "traces" / "twitter_cluster52_1m.csv.zst"
    web = data / "traces" / "blkreplay_loads" / "linux-webserver-2.load.gz"
    by_depth = data / "storiks" / "exp_03-iodepth_bs4rr100wr000.out.xz"
    output("import", "storiks", by_depth, "--out", "by-depth")
    sizes = imported(data, "sizes", "ab", "48", (4, 16, 64, 256, 512)), {"pressure-heat-map", "pressure-differences"}
    one = imported(data, "one", "b", "8", (512,)), {"pressure-scale", "timeline", "criterion-distribution"}
    joined = {"pressure-lines", "pressure-bars", "pressure-steps", "distribution-grid"}
    few = imported(data, "few", "b", "8", (4, 32, 128, 512)), joined | {"device-health", "levels"}
    depth = Path("by-depth/report.html"), {"neighbour-throughput"}
    output("trace", "slice", trace, "part.csv", "--requests", REQUESTS)
    output("trace", "slice", web, "web.csv", "--requests", 80_000)
    Path("inserts.properties").write_text(INSERTS)
    for engine, options in GROWING.items():
        Path(f"{engine}.toml").write_text(GROW.replace("ENGINE", engine).replace("OPTIONS", options))
        output("run", f"{engine}.toml", "--out", f"{engine}-recorded")
    output("report", *(f"{engine}-recorded" for engine in GROWING), "--out", "grown.html")
    experiments = {
        "closed": CLOSED,
        "interleaved": INTERLEAVED,
        "own": OWN,
        "replay": REPLAY,
        "real-vs-synthetic": REAL_VS_SYNTHETIC,
    }
    for name, text in experiments.items():
        Path(f"{name}.toml").write_text(text)
        output("run", f"{name}.toml", "--out", f"{name}-recorded")
    # Status 3: no rate met the goal, which the page shows.
    subprocess.run(["manometer", *RATES.split()], check=False, stdout=subprocess.DEVNULL)
    output("cache", "curve", trace, "--policy", "lru", "--policy", "s3-fifo", "--policy", "arc", "--knee",
         "--working-set", "--chart", "curve.html")  # fmt: skip
    output("cache", "advise", trace, "--prices", ARRANGEMENTS / "prices-2015.toml", "--out", "advise.html")
    of_tiers()
    made = [f"{name}-recorded/report.html" for name in ("own", "replay", "real-vs-synthetic")]
    rest = [(Path(page), set[str]()) for page in [*made, "rates.html", "curve.html", "advise.html"]]
    rest += [(Path("bars.html"), {"arrangement-bars"}), (Path("warm-up.html"), {"tier-series"})]
    rest += [(Path("load.html"), {"request-mix", "seeks-and-sizes"})]
    grown = Path("grown.html"), {"write-amplification-size"}
    closed = Path("closed-recorded/report.html"), {"pressure-twins", "throughput-latency"}
    interleaved = Path("interleaved-recorded/report.html"), {"blocks"}
    return [sizes, one, depth, grown, closed, interleaved, few, *rest]


def of_tiers() -> None:
    """The pages of simulated arrangements: random requests, the warm-up of a cache, the load on one disk."""
    chosen = [ARRANGEMENTS / f"{name}.toml" for name in ("1h", "4h0", "dmcache-1s-4h0", "bcache-1s-4h0", "1s")]
    sizes = ",".join(f"{access}-{size}" for access in ("read", "write") for size in ("64KiB", "512KiB", "4MiB"))
    output("cache", "tier", *chosen, "--workload", sizes, "--chart", "bars.html")
    output("cache", "tier", ARRANGEMENTS / "dmcache-1s-1h.toml", ARRANGEMENTS / "bcache-1s-1h.toml", "--workload",
           "read-64KiB", "--chart", "warm-up.html")  # fmt: skip
    output("cache", "tier", ARRANGEMENTS / "1h.toml", "--workload", "fileserver,varmail,oltp", "--chart", "load.html")


def charts_of(page: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of the first chart of each kind on a page."""
    found: dict[str, list[dict[str, Any]]] = {}
    for section in FIGURE.finditer(page.read_text()):
        name = section[1]
        if name in found or (rows := DATA.search(section[0])) is None:
            continue
        data = json.loads(rows[1])
        columns = {
            column: held.get("values") or [value for value, times in held["runs"] for _ in range(times)]
            for column, held in data["columns"].items()
        }
        found[name] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return found


def cumulated(histogram: list[dict[str, Any]], of: float, factor: float = 1.0) -> list[tuple[float, float]]:
    """The upper ends of a histogram's classes, times `factor`, with the share of `of` below them."""
    shares = np.cumsum([part["samples"] for part in histogram]) / of
    return [(part["below"] * factor, float(share)) for part, share in zip(histogram, shares, strict=True)]


def of_traces(data: Path) -> dict[str, list[dict[str, Any]]]:
    """Reuse, inter-arrivals and hot slots of traces."""
    reuse, gaps = [], []
    traces = {
        "Twitter, cluster 52": "twitter_cluster52_1m.csv.zst",
        "CloudPhysics": "cloudPhysicsIO.vscsi",
        "a web server's disk": "blkreplay_loads/linux-webserver-2.load.gz",
    }
    for name, file in traces.items():
        character = document("trace", "characterise", data / "traces" / file)
        distances = character["reuse_distance"]["distances"]
        for distance, share in cumulated(distances["histogram"], character["requests"]):
            bounds = {"low": None, "high": None, "requests": character["requests"]}
            reuse.append({"trace": name, "distance": max(distance, 1), "share": share, **bounds})
        arrivals = character["inter_arrival_s"]
        resolution_us = (character["times"]["resolution_s"] or 1e-6) * 1e6
        if resolution_us > 1e5:
            continue  # a clock in seconds cannot resolve the time between requests
        for gap_us, share in cumulated(arrivals["histogram"], arrivals["samples"], 1e6):
            gap = {"gap_us": max(gap_us, resolution_us), "share": share, "requests": arrivals["samples"]}
            gaps.append({"trace": name, **gap})
    return {"reuse-distance": reuse, "inter-arrivals": gaps, "hot-slots": hot_slots(data)}


def hot_slots(data: Path) -> list[dict[str, Any]]:
    """Requests for the slots of a cluster's keys, 64 stretches of them in stretches of 20 s."""
    trace = manometer.trace.open(data / "traces" / "twitter_cluster52_1m.csv.zst")
    wide, long_s, counted, last = SLOTS // 64, 20, {}, 0
    for batch in trace.batches():
        for row in batch.rows():
            # CRC16 as Redis Cluster has it.
            slot = binascii.crc_hqx(str(row["key"]).encode(), 0) % SLOTS
            last = row["time_ns"] // 10**9 // long_s
            counted[slot // wide, last] = counted.get((slot // wide, last), 0) + 1
    # The last stretch is no whole one.
    return [
        {"load": "Twitter, cluster 52", "slot": slot * wide, "slot_end": (slot + 1) * wide, "t_s": stretch * long_s,
         "t_end_s": (stretch + 1) * long_s, "requests": requests / long_s}
        for (slot, stretch), requests in sorted(counted.items())
        if stretch < last
    ]  # fmt: skip


def of_arrangements() -> dict[str, list[dict[str, Any]]]:
    """What arrangements of devices copy and cost."""
    chosen = [ARRANGEMENTS / f"{name}.toml" for name in ("dmcache-1s-4h0", "bcache-1s-4h0")]
    flows, costs = [], []
    tiers = [("SSD, read", "cache_read"), ("SSD, written", "cache_written"), ("disks, read", "origin_read"),
             ("disks, written", "origin_written")]  # fmt: skip
    for result in document("cache", "tier", *chosen, "--workload", "fileserver")["results"]:
        for flow, moved in result["flows"].items():
            for order, (tier, key) in enumerate(tiers):
                flows.append({"arrangement": result["arrangement"], "tier": tier, "tier_order": order,
                              "flow": "requests" if flow == "file" else flow, "mib": moved[key] / MIB})  # fmt: skip
    prices = ARRANGEMENTS / "prices-2015.toml"
    for result in document("cache", "cost", ARRANGEMENTS / "thesis.json", "--prices", prices)["results"]:
        if result["workload"] == "fileserver":
            for part, cost in result["parts"].items():
                if cost is not None:
                    costs.append({"strip": "cost of 150 GB (USD)", "order": 0, "arrangement": result["arrangement"],
                                  "part": part, "value": cost})  # fmt: skip
            costs.append({"strip": "cost per MB/s of the file server (USD)", "order": 1, "part": "total",
                          "arrangement": result["arrangement"], "value": result["cost_per_mb_per_s"]})  # fmt: skip
    return {"tier-flows": flows, "cost-bars": costs}


def page(shell: str, drawn: dict[str, list[dict[str, Any]]]) -> str:
    """The gallery in the place of what the report `shell` says."""
    sections, specs = [], {}
    for name, chart in _draw.charts().items():
        rows = drawn.get(name, [])
        specs[name] = json.loads(manometer._native.chart_spec(name, len(rows), ["It was not measured."]))
        columns = {column: {"values": [row[column] for row in rows]} for column in (rows[0] if rows else [])}
        data = json.dumps({"rows": len(rows), "columns": columns}).replace("</", "<\\/")
        sections.append(
            f'<section class="chart"><h3>{chart["title"]}</h3><p class="caption">{chart["caption"]}</p>'
            f'<figure data-chart="{name}"><div class="plot"></div><span class="save" data-name="{name}"></span>'
            f'<script type="application/json">{data}</script></figure></section>'
        )
    body = "<main><h1>Gallery</h1>" + "".join(sections) + "</main>"
    begin, end = shell.index("<main>"), shell.rindex("</main>") + len("</main>")
    marker = '<script type="application/json" id="specs">'
    at = shell.index(marker, end) + len(marker)
    last = shell.index("</script>", at)
    return shell[:begin] + body + shell[end:at] + json.dumps(specs).replace("</", "<\\/") + shell[last:]


def draw_pictures(drawn: dict[str, list[dict[str, Any]]]) -> None:
    """A picture of each chart, in docs/gallery/."""
    pictures = DOCS / "gallery"
    pictures.mkdir(exist_ok=True)
    for name in _draw.charts():
        picture = io.BytesIO()
        _draw._chart(name, drawn[name], "", []).save(picture, format="png", scale_factor=1)
        flat = Image.open(picture).convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT)
        flat.save(pictures / f"{name}.png", optimize=True)


def manual() -> str:
    """docs/gallery.md."""
    lines = ["# Gallery", "", ABOUT, ""]
    for name, chart in _draw.charts().items():
        origin = f" After {chart['origin']}." if chart["origin"] else ""
        function = name.replace("-", "_")
        lines += [f"## {chart['title']}", ""]
        lines += [f"`{name}`, `manometer.plot.{function}`. {chart['caption']}{origin}", ""]
        lines += [f"![{chart['title']}](gallery/{name}.png)", ""]
    return "\n".join(lines)


def main() -> None:
    """Makes everything in a directory of its own."""
    data, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    drawn: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        found = pages(data)
        for path, wanted in found:
            drawn = {name: rows for name, rows in charts_of(path).items() if not wanted or name in wanted} | drawn
        drawn |= of_traces(data) | of_arrangements()
        shell = found[0][0].read_text()
    missing = _draw.charts().keys() - drawn.keys()
    if missing:
        raise SystemExit(f"nothing was found for {', '.join(sorted(missing))}")
    out.write_text(page(shell, drawn))
    draw_pictures(drawn)
    (DOCS / "gallery.md").write_text(manual())


if __name__ == "__main__":
    main()
