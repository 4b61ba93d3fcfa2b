"""The programs that we are compared with: built once from their registries, kept outside the clone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

GO_YCSB = "v1.0.1"
YCSB_JAVA = "0.17.0"
LIBCACHESIM = "0.3.5"

CACHE = Path(os.environ.get("MANOMETER_CACHE", Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "manometer"))
KEPT = CACHE / "rivals"

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>manometer</groupId><artifactId>rivals</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>site.ycsb</groupId><artifactId>core</artifactId><version>{YCSB_JAVA}</version></dependency>
  </dependencies>
</project>
"""


def need(program: str, what: str) -> None:
    """Ends the bench when `program` is not there: it is not ours to choose which one is installed."""
    if shutil.which(program) is None:
        raise SystemExit(f"{what} is built with `{program}`, which is not installed")


def go_ycsb() -> Path:
    """go-ycsb with its SQLite binding, linked with the system's SQLite."""
    binary = KEPT / f"go-ycsb-{GO_YCSB}"
    if binary.exists():
        return binary
    need("go", "go-ycsb")
    folder = KEPT / "go"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(f"module rivals\n\ngo 1.22\n\nrequire github.com/pingcap/go-ycsb {GO_YCSB}\n")
    print("building go-ycsb (once, some minutes) ...", file=sys.stderr)
    command = ["go", "build", "-mod=mod", "-tags", "libsqlite3", "-o", str(binary), "github.com/pingcap/go-ycsb/cmd/go-ycsb"]
    subprocess.run(command, cwd=folder, check=True)
    return binary


def ycsb_java() -> list:
    """The command that begins every run of YCSB (Java) on its basic binding, which answers nothing, quietly."""
    folder = KEPT / f"ycsb-{YCSB_JAVA}"
    if not (folder / "lib").exists():
        need("mvn", "YCSB (Java)")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(POM)
        command = ["mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib.new"]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
        os.rename(folder / "lib.new", folder / "lib")
    return ["java", "-cp", f"{folder / 'lib'}/*", "site.ycsb.Client", "-t", "-db", "site.ycsb.BasicDB",
            "-p", "basicdb.verbose=false", "-p", "workload=site.ycsb.workloads.CoreWorkload"]


def libcachesim() -> Path:
    """A Python that has libCacheSim's own package."""
    folder = KEPT / f"libcachesim-{LIBCACHESIM}"
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", f"libcachesim=={LIBCACHESIM}"], check=True,
                       stdout=sys.stderr)
        (folder / "done").touch()
    return python
