#!/usr/bin/env python3
"""How well `manometer cache tier` tells the ratios that the cache thesis measured, next to a rule of thumb.

The 75 ratios of its Tables 6.2 and 6.3, decoded in arrangements/thesis.json: dm-cache / bcache, a cache / its origin
alone, SSDs alone / the same as a cache, for five pairs of devices under three workloads. Judged are the shipped constants
at the shipped scale, each mechanism of the model by leaving it out, and the choice of constants on two workloads for the
third, each in turn, at a scale that is quick. The simulations are deterministic: there is no spread.

`tier_fit.py` writes arrangements/ratios.json and benches/results/tier_fit.json; `tier_fit.py --ratios` only the former;
`tier_fit.py --try NAME=VALUE …` prints the fit with other constants, named as in CONSTANTS.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bench

ARRANGEMENTS = bench.ROOT / "arrangements"
WORKLOADS = ["fileserver", "varmail", "oltp"]
LEVELS = [("1s", "1h"), ("1s", "4h10"), ("1s", "4h0"), ("4s0", "4h10"), ("4s0", "4h0")]
NAMES = ["1h", "4h10", "4h0", "1s", "4s0"] + [f"{cache}-{ssds}-{disks}" for cache in ("bcache", "dmcache")
                                             for ssds, disks in LEVELS]
QUICK_SCALE = int(os.environ.get("SCALE", "32"))
OTHER_SCALES = [16]
SSD_PER_GB, DISK_PER_GB, CACHE_SHARE = 0.35, 0.0545, 0.2

# The constants that can be tried: the start of the files' names, and of the line; a line that is not there is added to
# the file, and the value `none` takes it out.
CONSTANTS = {
    "queue": ("devices", "queue"),
    "seek_min": ("devices", "seek_min"),
    "flush": ("devices", "flush"),
    "barriers": ("*", "barriers"),
    "commits_joined": ("*", "commits_joined"),
    "bcache.sequential": ("bcache", "sequential"),
    "bcache.congested": ("bcache", "congested"),
    "bcache.policy": ("bcache", "policy"),
    "bcache.clean_above": ("bcache", "clean_above"),
    "bcache.metadata": ("bcache", "metadata"),
    "bcache.memory_per_byte": ("bcache", "memory_per_byte"),
    "dmcache.policy": ("dmcache", "policy"),
    "dmcache.sequential": ("dmcache", "sequential"),
    "dmcache.migration": ("dmcache", "migration"),
    "dmcache.clean_above": ("dmcache", "clean_above"),
    "dmcache.metadata": ("dmcache", "metadata"),
}


def with_constants(constants: dict, folder: Path) -> None:
    """Copies the arrangements to `folder`, with other constants."""
    for path in ARRANGEMENTS.glob("*.toml"):
        lines = path.read_text().splitlines()
        for name, value in constants.items():
            files, key = CONSTANTS[name]
            is_meant = path.stem.startswith(files) if files != "*" else path.stem in NAMES
            if not is_meant:
                continue
            at = next((at for at, line in enumerate(lines) if line.split("=")[0].strip() == key), None)
            line = [] if value == "none" else [f"{key} = {value}"]
            if at is not None:
                lines[at:at + 1] = line
            elif files == "*":
                at = lines.index("[host]")
                lines[at + 1:at + 1] = line
            else:
                lines += line
        (folder / path.name).write_text("\n".join(lines) + "\n")


def throughputs(constants: dict, scale: int | None) -> dict:
    """The throughput in MB/s by workload and arrangement; `scale` instead of the shipped one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        with_constants(constants, Path(scratch))
        files = [str(Path(scratch) / f"{name}.toml") for name in NAMES]
        command = [str(bench.BINARY), "cache", "tier", *files, "--workload", ",".join(WORKLOADS), "--format", "json"]
        document = bench.run_json(command + (["--scale", str(scale)] if scale else []))
    return {(result["workload"], result["arrangement"]): result["mb_per_s"] for result in document["results"]}


def thesis() -> dict:
    results = json.loads((ARRANGEMENTS / "thesis.json").read_text())["results"]
    return {(result["workload"], result["arrangement"]): result["mb_per_s"] for result in results}


def by_rule() -> dict:
    """A rule of thumb: an SSD is ten disks, RAID 0 of four is four of them and RAID 10 two, and a cache for half of the
    data serves half of the requests."""
    devices = {"1h": 1, "4h10": 2, "4h0": 4, "1s": 10, "4s0": 40}

    def speed(name: str) -> float:
        parts = name.split("-")
        return devices[name] if len(parts) == 1 else 1 / (0.5 / devices[parts[1]] + 0.5 / devices[parts[2]])

    return {(workload, name): speed(name) for workload in WORKLOADS for name in NAMES}


def ratios(model: dict) -> list:
    """Every ratio of the thesis, with that of `model`."""
    measured, found = thesis(), []
    for workload in WORKLOADS:
        for ssds, disks in LEVELS:
            dm_cache, bcache = f"dmcache-{ssds}-{disks}", f"bcache-{ssds}-{disks}"
            pairs = [("caches", dm_cache, bcache)]
            for cache in (dm_cache, bcache):
                pairs += [("origin", cache, disks), ("ssd", ssds, cache)]
            for kind, of, by in pairs:
                one, other = (workload, of), (workload, by)
                if model.keys() >= {one, other}:
                    found.append({"workload": workload, "kind": kind, "of": of, "by": by,
                                  "thesis": measured[one] / measured[other], "model": model[one] / model[other]})
    return found


def sign(ratio: float) -> int:
    return 0 if abs(ratio - 1) < 1e-9 else 1 if ratio > 1 else -1


def fit(found: list) -> dict:
    """How good ratios are. A rule that calls two arrangements equal has no sign."""
    return {
        "signs_right": sum(sign(ratio["model"]) == sign(ratio["thesis"]) for ratio in found), "of": len(found),
        "median_error": statistics.median(abs(ratio["model"] / ratio["thesis"] - 1) for ratio in found),
        "mean_log_error": statistics.mean(abs(math.log(ratio["model"] / ratio["thesis"])) for ratio in found),
    }


def fits(model: dict) -> dict:
    """All together, by kind and by workload."""
    found = ratios(model)
    by_field = {value: fit([ratio for ratio in found if ratio[field] == value])
                for field in ("kind", "workload") for value in dict.fromkeys(ratio[field] for ratio in found)}
    return {"all": fit(found)} | by_field


def print_fits(label: str, model: dict) -> None:
    print(label)
    for name, figures in fits(model).items():
        print(f"  {name:10} {figures['signs_right']} of {figures['of']} signs, median {figures['median_error']:.0%}, "
              f"mean log error {figures['mean_log_error']:.2f}", flush=True)


def print_wrong(model: dict) -> None:
    for ratio in ratios(model):
        if sign(ratio["model"]) != sign(ratio["thesis"]):
            print(f"  wrong: {ratio['of']} / {ratio['by']}, {ratio['workload']}: thesis {ratio['thesis']:.2f}, "
                  f"model {ratio['model']:.2f}")


def cost_per_mb_per_s(name: str, speed: float) -> float:
    """The thesis's rule, section 6.4."""
    parts = name.split("-")
    if len(parts) == 1:
        return int(name[0]) * (SSD_PER_GB if name[1] == "s" else DISK_PER_GB) / speed
    return (SSD_PER_GB * int(parts[1][0]) * CACHE_SHARE + DISK_PER_GB * int(parts[2][0])) / speed


def cheapest(speeds: dict, workload: str) -> str:
    return min(NAMES, key=lambda name: cost_per_mb_per_s(name, speeds[workload, name]))


def rank_correlation(model: dict, workload: str) -> float:
    """Kendall's tau-b of the throughputs."""
    pairs = [(model[workload, name], thesis()[workload, name]) for name in NAMES]
    signs = [[(one[side] > other[side]) - (one[side] < other[side]) for at, one in enumerate(pairs)
              for other in pairs[:at]] for side in (0, 1)]
    both = sum(one * other for one, other in zip(*signs, strict=True))
    return both / math.sqrt(math.prod(sum(sign * sign for sign in side) for side in signs))


def throughput_fits(model: dict) -> dict:
    """The rank correlation and the median error of the throughputs of each workload."""
    measured = thesis()
    return {workload: {"tau": rank_correlation(model, workload), "median_error": statistics.median(
        abs(model[workload, name] / measured[workload, name] - 1) for name in NAMES)} for workload in WORKLOADS}


def print_table(model: dict) -> None:
    """The table of docs/cache-tiers.md."""
    measured, fitted = thesis(), throughput_fits(model)
    print("| arrangement |" + "".join(f" {workload} | model | off by |" for workload in WORKLOADS))
    print("| --- " * 10 + "|")
    for name in NAMES:
        cells = [f" {measured[workload, name]:.1f} | {model[workload, name]:.1f} | "
                 f"{100 * (model[workload, name] / measured[workload, name] - 1):+.0f} % |" for workload in WORKLOADS]
        print(f"| `{name}` |" + "".join(cells))
    cells = [f"  | {fit['tau']:.2f} | {100 * fit['median_error']:.0f} % |" for fit in fitted.values()]
    print("| Kendall's tau-b, median error |" + "".join(cells))


def write_ratios(model: dict) -> None:
    """What `cache tier` says of its own rows."""
    rows = [json.dumps({**ratio, "thesis": round(ratio["thesis"], 5), "model": round(ratio["model"], 5)})
            for ratio in ratios(model)]
    least = [json.dumps({"workload": workload, "thesis": cheapest(thesis(), workload),
                         "model": cheapest(model, workload)}) for workload in WORKLOADS]
    text = "{\n  \"about\": \"Throughput of one arrangement divided by that of another, in the cache thesis and in the " \
        "model, and the arrangement of the lowest cost per MB/s. Written by benches/tier_fit.py.\",\n" \
        f"  \"ratios\": [\n    {(',' + chr(10) + '    ').join(rows)}\n  ],\n" \
        f"  \"cheapest\": [\n    {(',' + chr(10) + '    ').join(least)}\n  ]\n}}\n"
    (ARRANGEMENTS / "ratios.json").write_text(text)


# Each mechanism, and the constants without it.
MECHANISMS = {
    "disks serve the nearest of 32 requests (NCQ)": {"queue": "1"},
    "a commit waits for the media": {"barriers": "false"},
    "each thread commits for itself": {"commits_joined": "true"},
    "bcache: sequential requests bypass it": {"bcache.sequential": "none"},
    "bcache: requests bypass a congested SSD": {"bcache.congested": "none"},
    "bcache: whole buckets are evicted, and dirty data is written back at a rate": {"bcache.policy": '"lru"'},
    "bcache: journal and B-tree": {"bcache.metadata": "none"},
    "dm-cache: a block is promoted after several requests": {"dmcache.policy": '"dm-cache-mq:read=0:write=0"'},
    "dm-cache: sequential requests bypass it": {"dmcache.sequential": "none"},
    "dm-cache: a limit on what is copied at once": {"dmcache.migration": "none"},
    "dm-cache: metadata": {"dmcache.metadata": "none"},
}
# What is tried when constants are chosen on two workloads. Those of the workloads themselves stay as they ship.
GRID = {
    "queue": ["1", "32"],
    "flush": ['"500us"', '"1500us"', '"2500us"', '"5ms"'],
    "commits_joined": ["true", "false"],
    "bcache.sequential": ['{ bytes = "4MiB", task_mean = true }'],
}


def ablation(shipped: dict) -> list:
    rows = [{"without": None, **fits(shipped)}]
    for mechanism, constants in MECHANISMS.items():
        model = throughputs(constants, QUICK_SCALE)
        print_fits(f"without: {mechanism}", model)
        rows.append({"without": mechanism, **fits(model)})
    return rows


def chosen_on(trained: list, known: dict) -> dict:
    """Constants that fit the workloads of `trained` best, one after another, from the shipped ones. `known` keeps what
    was simulated."""
    def error(constants: dict) -> float:
        key = json.dumps(constants, sort_keys=True)
        if key not in known:
            known[key] = throughputs(constants, QUICK_SCALE)
        return fit([ratio for ratio in ratios(known[key]) if ratio["workload"] in trained])["mean_log_error"]

    best: dict = {}
    for name, values in GRID.items():
        best = min([best] + [best | {name: value} for value in values], key=error)
    return best


def cross_validation(shipped: dict) -> list:
    """The mean logarithmic error on each workload, with constants chosen on the two others."""
    known, rows = {"{}": shipped}, []
    for judged in WORKLOADS:
        constants = chosen_on([workload for workload in WORKLOADS if workload != judged], known)
        model = known[json.dumps(constants, sort_keys=True)]
        row = {"judged": judged, "constants": constants, "chosen_on_the_others": fits(model)[judged],
               "shipped": fits(shipped)[judged], "rule_of_thumb": fits(by_rule())[judged]}
        print(f"{judged}: chosen on the others {row['chosen_on_the_others']}, shipped {row['shipped']}", flush=True)
        rows.append(row)
    return rows


def rounding() -> dict:
    """The thesis prints one digit after the point: how many ratios that leaves on either side of 1."""
    speeds, open_ones = thesis(), []
    for ratio in ratios(speeds):
        one, other = (speeds[ratio["workload"], ratio[name]] for name in ("of", "by"))
        if (one - 0.05) / (other + 0.05) < 1 < (one + 0.05) / (other - 0.05):
            open_ones.append(f"{ratio['of']} / {ratio['by']}, {ratio['workload']}")
    return {"undecided_by_rounding": len(open_ones), "which": open_ones}


def main() -> None:
    if "--try" in sys.argv:
        constants = dict(item.split("=", 1) for item in sys.argv[sys.argv.index("--try") + 1:])
        model = throughputs(constants, QUICK_SCALE)
        print_fits(str(constants), model)
        print_wrong(model)
        return
    shipped = throughputs({}, None)
    write_ratios(shipped)
    print_table(shipped)
    print_fits("shipped", shipped)
    print_fits("rule of thumb", by_rule())
    if "--ratios" in sys.argv:
        return
    quick = throughputs({}, QUICK_SCALE)
    at_scales = {scale: throughputs({}, scale) for scale in OTHER_SCALES} | {QUICK_SCALE: quick}
    bench.write("tier_fit", {
        "about": __doc__.strip(), "quick_scale": QUICK_SCALE, "shipped": fits(shipped), "rule_of_thumb": fits(by_rule()),
        "thesis": rounding(),
        "cheapest": {workload: {"thesis": cheapest(thesis(), workload), "model": cheapest(shipped, workload),
                                "rule_of_thumb": cheapest(by_rule(), workload)} for workload in WORKLOADS},
        "throughputs": throughput_fits(shipped),
        "other_scales": {scale: {**throughput_fits(model), "ratios": fit(ratios(model))}
                         for scale, model in at_scales.items()},
        "mechanisms": ablation(quick), "cross_validation": cross_validation(quick),
    })


if __name__ == "__main__":
    main()
