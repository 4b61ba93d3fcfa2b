#!/usr/bin/env python3
"""RocksDB compiled twenty sources at a time (setup/rocksdb-unity) against the same sources one by one: random writes,
random reads and a scan of one small C program, linked with either library, in alternation.

The second library is compiled here: 28 minutes of processor time, once. It is kept under the user's cache. For that
reason this is no part of benches/run.py.
"""

import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench

ROUNDS = bench.pairs()
RECORDS, READS = "2000000", "1000000"
SOURCE = Path(__file__).with_suffix(".c")
# The processor features of setup/rocksdb, whose library is one of the two.
FLAGS = {"x86_64": "-Ctarget-cpu=x86-64-v2\x1f-Ctarget-feature=+pclmulqdq", "aarch64": "-Ctarget-feature=+crc,+aes"}
GOAL = 0.97


def joined() -> Path:
    return Path(bench.version(str(bench.ROOT / "setup" / "rocksdb"), "--where"))


def one_by_one() -> Path:
    """The folder of the library that is compiled file by file; compiles it the first time."""
    folder = joined().with_name(joined().name + "-one-by-one")
    if not (folder / "librocksdb.a").exists():
        build = folder.with_name(folder.name + ".build")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROCKSDB_")}
        environment |= {"CARGO_ENCODED_RUSTFLAGS": FLAGS.get(os.uname().machine, "")}
        command = ["cargo", "build", "--release", "--locked", "--package", "librocksdb-sys", "--target-dir", build]
        subprocess.run(command, cwd=bench.ROOT, env=environment | {"CARGO_PROFILE_RELEASE_DEBUG": "false"}, check=True)
        folder.mkdir()
        for name in ("libzstd.a", "liblz4.a", "librocksdb.a"):
            shutil.copy(next(build.rglob(name)), folder)
        shutil.rmtree(build)
    return folder


def headers() -> str:
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    version = joined().name.removeprefix("rocksdb-").rsplit("-", 1)[0]
    return glob.glob(f"{registry}/*/librocksdb-sys-{version}/rocksdb/include")[0]


def linked(library: Path, program: Path) -> Path:
    libraries = [library / name for name in ("librocksdb.a", "libzstd.a", "liblz4.a")]
    system = ["-lstdc++", "-lm", "-lpthread", "-ldl"]
    subprocess.run(["cc", "-O2", "-I", headers(), "-o", program, SOURCE, *libraries, *system], check=True)
    return program


def rates(program: Path, folder: Path) -> dict:
    figures = bench.run_json([program, folder, RECORDS, READS])
    shutil.rmtree(folder)
    return figures


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as scratch:
        programs = {"joined": linked(joined(), Path(scratch, "joined")),
                    "one by one": linked(one_by_one(), Path(scratch, "one-by-one"))}
        taken = []

        def writes(name: str) -> float:
            taken.append((name, rates(programs[name], Path(scratch, "db"))))
            return taken[-1][1]["writes"]

        rounds = bench.alternate({name: lambda name=name: writes(name) for name in programs}, ROUNDS)
    rows = [bench.compare("random writes", rounds, "joined", "one by one", GOAL)]
    for kind in ("reads", "scans"):
        of = {name: [figures[kind] for whose, figures in taken if whose == name] for name in programs}
        rounds = [dict(zip(of, figures, strict=True)) for figures in zip(*of.values(), strict=True)]
        rows.append(bench.compare(f"random {kind}" if kind == "reads" else kind, rounds, "joined", "one by one", GOAL))
    bench.write("rocksdb_joined", {"machine": bench.machine(Path(tempfile.gettempdir())), "records": int(RECORDS),
                                   "reads": int(READS), "value_bytes": 100, "rows": rows})


if __name__ == "__main__":
    main()
