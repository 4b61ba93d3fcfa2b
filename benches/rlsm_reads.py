#!/usr/bin/env python3
"""What a get's one read of 4 KiB costs by each way to the device, with fio, in alternation, in a memory cgroup like that
of `rlsm_speed.py`: through the page cache (as rlsm reads), past it, and past it with io_uring, as four threads that each
wait for their read. `batched` is io_uring with eight reads under way for each thread, as only a get of many keys at
once could have them. Uniform reads of a file of sixteen times the memory, so that the page cache has little to give.
"""

import sys
import tempfile
from pathlib import Path

import bench
import peers

MEMORY = 256 * peers.MIB
FILE_BYTES = 16 * MEMORY
THREADS, SECONDS = 4, 8
BUFFERED, DIRECT = ["--ioengine=psync", "--direct=0"], ["--ioengine=psync", "--direct=1"]
IO_URING = ["--ioengine=io_uring", "--direct=1", "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1"]
WAYS = {"page cache": BUFFERED, "direct": DIRECT, "io_uring": IO_URING, "batched": [*IO_URING, "--iodepth=8"]}


def read(path: Path, way: list, enter) -> dict:
    """Reads a second, processor seconds per million of them, and the latency of 99.9 % of them."""
    job = bench.run_json(["fio", "--name=reads", f"--filename={path}", f"--size={FILE_BYTES}", "--readonly", "--rw=randread",
                          "--bs=4k", f"--numjobs={THREADS}", "--thread", "--group_reporting", "--time_based",
                          f"--runtime={SECONDS}", "--ramp_time=2", "--norandommap=1", "--randrepeat=0",
                          "--output-format=json", *way], enter)["jobs"][0]
    busy_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    return {"reads_per_second": job["read"]["iops"], "cpu_s_per_million": busy_s * 1e6 / job["read"]["total_ios"],
            "p999_us": job["read"]["clat_ns"]["percentile"]["99.900000"] / 1e3}


def main() -> None:
    with tempfile.TemporaryDirectory(dir=bench.ROOT, prefix="manometer-data-") as scratch, \
            peers.memory_limit(MEMORY) as enter:
        path = Path(scratch) / "file"
        bench.run_json(["fio", "--name=fill", f"--filename={path}", f"--size={FILE_BYTES}", "--rw=write", "--bs=1m",
                        "--direct=1", "--output-format=json"])
        figures = {name: [] for name in WAYS}
        for number in range(bench.pairs()):
            turn = number % len(WAYS)
            for name, way in [*WAYS.items()][turn:] + [*WAYS.items()][:turn]:
                figures[name].append(read(path, way, enter))
        results = [{"way": name, **{key: bench.spread([one[key] for one in rounds]) for key in rounds[0]},
                    "ratio": bench.spread([one["reads_per_second"] / base["reads_per_second"]
                                           for one, base in zip(rounds, figures["page cache"])])}
                   for name, rounds in figures.items()]
        for result in results:
            print(f"{result['way']}: " + ", ".join(
                f"{name} {figure['median']:,.2f} ({figure['min']:,.2f} to {figure['max']:,.2f})"
                for name, figure in result.items() if name != "way"), flush=True)
        machine = bench.machine(Path(scratch)) | {"fio": bench.version("fio", "--version")}
    bench.write("rlsm_reads", {"about": __doc__.strip(), "machine": machine, "memory_bytes": MEMORY,
                               "file_bytes": FILE_BYTES, "threads": THREADS, "seconds": SECONDS, "results": results})


if __name__ == "__main__":
    sys.exit(main())
