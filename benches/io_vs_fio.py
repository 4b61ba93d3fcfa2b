#!/usr/bin/env python3
"""Compare `manometer io` with fio: 4 KiB random reads, direct, the same file and engine, in turns.

Each round runs every contestant once, each round begins with another one, and every ratio is of two
runs of the same round: what the disk or a busy host does to a round, it does to both.

CPU seconds are those that each tool counts itself over what it measures: the whole process for
manometer, the job alone for fio.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import bench
from bench import run_json

FIO_TUNED = ["--fixedbufs=1", "--registerfiles=1", "--nonvectored=1", "--norandommap=1"]
METRICS = {"iops": ("IOPS", 0), "cpu_s_per_million": ("CPU s per million", 3)}
GOALS = {"iops": "at least 1.0", "cpu_s_per_million": "at most 1.0"}


def measure_manometer(options, depth):
    """One run of manometer on the file that is there already."""
    result = run_json([
        str(bench.BINARY), "io", "--file", options.file, "--file-size", options.file_size,
        "--block-size", "4KiB", "--write-ratio", "0", "--random-ratio", "1", "--iodepth", str(depth),
        "--io-engine", options.engine, "--direct", "--seconds", str(options.seconds), "--format", "json",
    ])
    return {"iops": result["iops"], "cpu_s_per_million": result["cpu_s_per_million"],
            "p50_us": result["latency_us"]["read"]["p50"], "p99_us": result["latency_us"]["read"]["p99"]}


def measure_fio(options, depth, extra):
    """One run of fio on the same file."""
    result = run_json([
        "fio", "--name=bench", f"--filename={options.file}", "--readonly", "--rw=randread", "--bs=4k",
        "--direct=1", f"--ioengine={options.engine}", f"--iodepth={depth}", "--time_based",
        f"--runtime={options.seconds}", "--randrepeat=0", "--output-format=json", *extra,
    ])
    job = result["jobs"][0]
    cpu_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    percentiles = job["read"]["clat_ns"]["percentile"]
    return {"iops": job["read"]["iops"], "cpu_s_per_million": cpu_s * 1e6 / job["read"]["total_ios"],
            "p50_us": percentiles["50.000000"] / 1e3, "p99_us": percentiles["99.000000"] / 1e3}


def contestants(options):
    """Every tool by name; the first is ours."""
    tools = {"manometer": measure_manometer, "fio": lambda options, depth: measure_fio(options, depth, [])}
    if options.engine == "io_uring":
        tools["fio tuned"] = lambda options, depth: measure_fio(options, depth, FIO_TUNED)
    return tools


def measure_depth(options, depth):
    """All rounds of one depth: a list of {tool: measured}."""
    tools = list(contestants(options).items())
    rounds = []
    for number in range(options.pairs):
        turn = number % len(tools)
        measured = {name: measure(options, depth) for name, measure in tools[turn:] + tools[:turn]}
        figures = ", ".join(f"{name} {measured[name]['iops']:.0f} IOPS" for name, _ in tools)
        print(f"iodepth {depth}, round {number + 1} of {options.pairs}: {figures}", file=sys.stderr)
        rounds.append(measured)
    return rounds


def compare(rounds, rival, metric):
    """The medians of both, and the spread of their ratio over the rounds."""
    ratios = [measured["manometer"][metric] / measured[rival][metric] for measured in rounds]
    return {
        "manometer": statistics.median(measured["manometer"][metric] for measured in rounds),
        "rival": statistics.median(measured[rival][metric] for measured in rounds),
        "ratio": {"min": min(ratios), "median": statistics.median(ratios), "max": max(ratios)},
        "goal": GOALS[metric],
    }


def print_table(results):
    """Both figures, their ratio and its spread, a line each."""
    line = "{:>7}  {:<18} {:<10} {:>10} {:>10}   {:>6}  {:>15}  {}"
    print(line.format("iodepth", "metric", "against", "manometer", "rival", "ratio", "(min to max)", "goal"))
    for result in results:
        for rival, metrics in result["against"].items():
            for metric, found in metrics.items():
                name, digits = METRICS[metric]
                ratio = found["ratio"]
                print(line.format(
                    result["iodepth"], name, rival, f"{found['manometer']:.{digits}f}", f"{found['rival']:.{digits}f}",
                    f"{ratio['median']:.3f}", f"({ratio['min']:.3f} to {ratio['max']:.3f})", found["goal"]))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", help="where the file is made, on the disk to measure; unsaid, /var/tmp")
    parser.add_argument("--file-size", default="1GiB")
    parser.add_argument("--engine", default="io_uring", choices=["io_uring", "libaio"])
    parser.add_argument("--iodepth", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--pairs", type=int, default=6, help="rounds, at least 5")
    parser.add_argument("--seconds", type=int, default=5, help="of each run")
    options = parser.parse_args()
    if options.pairs < 5:
        parser.error(f"--pairs is {options.pairs}: a spread needs at least 5")
    return options


def main():
    options = read_options()
    with tempfile.TemporaryDirectory(dir=options.directory or "/var/tmp", prefix="manometer-bench-") as scratch:
        options.file = str(Path(scratch) / "file")
        run_json([str(bench.BINARY), "io", "--file", options.file, "--file-size", options.file_size,
                  "--io-engine", options.engine, "--seconds", "1", "--keep", "--format", "json"])
        machine = bench.machine(Path(scratch)) | {"fio": bench.version("fio", "--version")}
        results = []
        for depth in options.iodepth:
            rounds = measure_depth(options, depth)
            rivals = [name for name in contestants(options) if name != "manometer"]
            against = {rival: {metric: compare(rounds, rival, metric) for metric in METRICS} for rival in rivals}
            results.append({"iodepth": depth, "against": against, "rounds": rounds})
    report = {"benchmark": "io against fio, 4 KiB random reads, direct", "engine": options.engine,
              "file_size": options.file_size, "seconds": options.seconds, "pairs": options.pairs,
              "fio_tuned": FIO_TUNED, "machine": machine, "results": results}
    print_table(results)
    bench.write("io_vs_fio", report)


if __name__ == "__main__":
    main()
