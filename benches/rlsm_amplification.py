#!/usr/bin/env python3
"""What rlsm, RocksDB (levelled, universal, BlobDB) and fjall write for each byte put: loading in random order, then as
many uniform updates; the write-ahead log included, and the compactions that loading leaves. Over the size of the data:
also puts a second, runs per range, how long compactions take and what they hold in memory.

The bytes are those that the kernel counts for the process (`write_bytes` of /proc/PID/io). Keys are YCSB's, taken as the
23 bytes that they have at the most; memtables are small, so that data / memtable is what it is for a large database: RocksDB's levels keep their default
proportions to the memtable. Nothing is compressed, nothing synced. Space is what the files take after the updates,
over what all keys and values are. `tight` is rlsm that lets less become stale.
"""

import os
import sys

import bench
import peers

MEMTABLE = peers.MIB
CACHE = 32 * peers.MIB
PEERS = ["rlsm", "rocksdb", "tight", "universal", "blobdb", "fjall"]
# Ratio of data to memtable, and the peers measured at it.
RATIOS = {50: PEERS[:2], 120: PEERS[:2], 350: PEERS, 500: PEERS[:2]}
GOALS = {100: 5.5, 1024: 4.5}
KEY_BYTES = 23
ROUNDS = int(os.environ.get("ROUNDS", "3"))


def one(peer: str, value_bytes: int, ratio: int, home) -> dict:
    records = ratio * MEMTABLE // (KEY_BYTES + value_bytes)
    user = records * (KEY_BYTES + value_bytes)
    flags = [*peers.options(peer, MEMTABLE, CACHE), "--workload", "ycsb-a", "-p", "readproportion=0", "-p",
             "updateproportion=1", "--distribution", "uniform", "--records", str(records), "--value-size",
             str(value_bytes), "--load", "puts", "--dir", str(peers.fresh(home)), "--reuse"]
    load = peers.kv([*flags, "--operations", "1"])
    update = peers.kv([*flags, "--operations", str(records)])
    figures = {"load": load["written"] / user, "update": update["written"] / user, "space": peers.disk_bytes(home) / user,
               "updates_per_second": update["throughput"]["mean"]}
    return figures | (ours(update["state"], records) if peer in ("rlsm", "tight") else {})


def ours(state: dict, records: int) -> dict:
    """What only rlsm reports: means over the updates."""
    return {"index_bytes_per_key": state["index_bytes"] / records, "range_runs_mean": state["range_runs_mean"],
            "range_runs_max": state["range_runs_max"], "compaction_memory_bytes": state["compaction_memory_bytes"],
            "compaction_seconds": state["compacting"] / state["compactions"] if state["compactions"] else None,
            "compacting_share": state["compacting"]}


def main() -> None:
    home = bench.ROOT / "manometer-data" / "amplification"
    kept = []
    try:
        for value_bytes, goal in GOALS.items():
            for ratio, measured in RATIOS.items():
                rounds = [{peer: one(peer, value_bytes, ratio, home) for peer in measured} for _ in range(ROUNDS)]
                for peer in measured:
                    names = [name for name in rounds[0][peer] if all(one[peer][name] is not None for one in rounds)]
                    spreads = {name: bench.spread([figures[peer][name] for figures in rounds]) for name in names}
                    figures = ", ".join(f"{name} {figure['median']:,.2f} ({figure['min']:,.2f} to {figure['max']:,.2f})"
                                     for name, figure in spreads.items())
                    print(f"{value_bytes} B, data/memtable {ratio}, {peer}: {figures}", flush=True)
                    kept.append({"value_bytes": value_bytes, "data_per_memtable": ratio, "peer": peer, **spreads,
                                 **({"goal": goal} if peer == "rlsm" else {})})
    finally:
        peers.shutil.rmtree(home, ignore_errors=True)
    bench.write("rlsm_amplification", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    sys.exit(main())
