"""Caches over arrays and files, against a model that is slow and obvious."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import manometer
import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manometer.errors import CacheError, DamagedTraceWarning, TraceError

KEYS = st.lists(st.integers(-20, 20), max_size=200)


def lru_misses(keys: list[int], capacity: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for key in keys:
        misses += key not in cache
        cache[key] = None
        cache.move_to_end(key)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return misses


@given(keys=KEYS, capacity=st.integers(1, 30))
def test_lru_misses_as_its_model(keys: list[int], capacity: int) -> None:
    (row,) = manometer.cache.simulate(np.array(keys, np.int64), "lru", capacity).rows()
    assert (row["requests"], row["misses"]) == (len(keys), lru_misses(keys, capacity))
    ratio = None if not keys else row["misses"] / len(keys)
    assert row["miss_ratio"] == ratio
    if keys:
        (point,) = manometer.cache.curves(keys, capacities=capacity).rows()
        assert point["miss_ratio"] == pytest.approx(ratio) and point["error"] is None


@given(keys=KEYS, kind=st.sampled_from([np.int8, np.int16, np.int32, np.int64, ">i8", ">u4"]))
def test_every_whole_number_is_a_key(keys: list[int], kind: Any) -> None:
    keys = [abs(key) for key in keys] if kind == ">u4" else keys
    array = np.array(keys, kind)
    plain = manometer.cache.simulate(keys, ["lru", "arc"], [1, 5, 9]).rows()
    assert manometer.cache.simulate(array, ["lru", "arc"], [1, 5, 9]).rows() == plain
    spread = np.repeat(array, 3)[::3]
    assert manometer.cache.simulate(spread, ["lru", "arc"], [1, 5, 9]).rows() == plain


def test_sizes_count_where_they_are_asked_for() -> None:
    keys, sizes = [1, 2, 1, 3, 1], [10, 20, 10, 300, 10]
    (row,) = manometer.cache.simulate(keys, "lru", 100, sizes=sizes, by_size=True).rows()
    assert (row["misses"], row["bypassed"]) == (3, 1)
    assert row["byte_miss_ratio"] == pytest.approx(330 / 350)
    curve = manometer.cache.curves(keys, sizes=sizes, by_size=True)
    assert {row["unit"] for row in curve.rows()} == {"bytes"}


def test_a_file_and_its_columns_are_the_same_requests(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [(second, second * second % 17, 100 + second % 3) for second in range(500)]
    path.write_text("time_s,key,value_size,op\n" + "".join(f"{a},{b},{c},get\n" for a, b, c in rows))
    columns = polars.DataFrame(manometer.trace.open(path))
    wanted: dict[str, Any] = {"policies": ["lru", "s3-fifo", "bcache"], "capacities": [500, 1000], "by_size": True}
    arrays = {"sizes": columns["value_size"].to_numpy(), "times_ns": columns["time_ns"].to_numpy()}
    of_arrays = manometer.cache.simulate(columns["key"].to_numpy(), **wanted, **arrays)
    for requests in [path, str(path), manometer.trace.open(path)]:
        assert manometer.cache.simulate(requests, **wanted).rows() == of_arrays.rows()
    of_file = manometer.cache.curves(path, ["lru", "fifo"], by_size=True)
    of_keys = manometer.cache.curves(columns["key"].to_numpy(), ["lru", "fifo"], by_size=True, sizes=arrays["sizes"])
    assert of_file.rows() == of_keys.rows()
    assert any(row["is_knee"] for row in of_file.rows())


def test_curves_are_what_their_chart_draws() -> None:
    curves = manometer.cache.curves(np.arange(20_000) % 5000, ["lru", "fifo"], samples=3000)
    rows = curves.rows()
    assert {row["unit"] for row in rows} == {"objects"}
    sampled = [row for row in rows if row["error"] is not None]
    assert sampled and all(0 <= row["low"] <= row["miss_ratio"] <= row["high"] <= 1 for row in sampled)
    assert manometer.plot.cache_curves(curves).to_dict()["description"]


def test_blocks_of_a_device_are_asked_for_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "disk.csv"
    path.write_text("time_s,op,offset,size\n0,read,0,8192\n1,read,4096,4096\n")
    (row,) = manometer.cache.simulate(path, "lru", 10, block_bytes=4096).rows()
    assert (row["requests"], row["misses"]) == (3, 2)


def test_a_sample_has_its_error() -> None:
    keys = np.random.default_rng(1).zipf(1.2, 200_000).astype(np.int64)
    rows = manometer.cache.curves(keys, ["lru", "fifo"], samples=2000).rows()
    assert {row["policy"] for row in rows} == {"lru", "fifo"}
    assert all(0 < row["rate"] < 1 for row in rows)
    assert any(row["error"] is not None and row["error"] > 0 for row in rows)


def test_threads_share_arrays() -> None:
    keys = np.arange(50_000) % 777
    found: list[list[dict[str, Any]]] = []

    def work() -> None:
        found.append(manometer.cache.simulate(keys, ["lru", "arc"], [100, 700]).rows())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(rows == found[0] for rows in found)


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    simulate = manometer.cache.simulate
    cases: list[tuple[str, Any]] = [
        ("no policy `lrv`", lambda: simulate([1], "lrv", 1)),
        ("`0` is not a valid lifetime|no parameter", lambda: simulate([1], "lru:lifetime=0", 1)),
        ("0 is not a capacity", lambda: simulate([1], "lru", [1, 0])),
        ("numpy.unique", lambda: simulate(np.array(["a", "b"]), "lru", 1)),  # pyright: ignore[reportArgumentType]
        ("shape", lambda: simulate(np.zeros((2, 2), np.int64), "lru", 1)),
        ("2 keys and 1 sizes", lambda: simulate([1, 2], "lru", 1, sizes=[1], by_size=True)),
        ("hold -1", lambda: simulate([1], "lru", 1, sizes=[-1], by_size=True)),
        ("give the sizes", lambda: simulate([1], "lru", 1, by_size=True)),
        ("flags", lambda: simulate([1], "lru", 1, writes=[2])),  # pyright: ignore[reportArgumentType]
        ("have no blocks", lambda: simulate([1], "lru", 1, block_bytes=4096)),
        ("both rate and samples", lambda: manometer.cache.curves([1], rate=0.5, samples=100)),
        ("rate", lambda: manometer.cache.curves([1], rate=2.0)),
        ("sample of 0 keys", lambda: manometer.cache.curves([1], samples=0)),
        ("1.5 is not a capacity", lambda: simulate([1], "lru", [1.5])),  # pyright: ignore[reportArgumentType]
    ]
    for wanted, call in cases:
        with pytest.raises((CacheError, TraceError), match=wanted):
            call()
    (tmp_path / "trace.csv").write_text("time_s,key,op\n0,1,get\n1,2,get\n2,3,get\nx,3,get\n4,1,get\n")
    with pytest.warns(DamagedTraceWarning, match="line 5"):
        simulate(tmp_path / "trace.csv", "lru", 1)
    with pytest.raises(TraceError):
        simulate(tmp_path / "trace.csv", "lru", 1, block_bytes=4096)
    with pytest.raises(CacheError, match="has its own"):
        simulate(tmp_path / "trace.csv", "lru", 1, sizes=[1])


def test_policies_are_listed_with_their_sources() -> None:
    known = {policy["name"]: policy for policy in manometer.cache.policies()}
    assert {"lru", "arc", "s3-fifo", "lirs"} <= set(known)
    assert all(policy["about"] and policy["source"] for policy in known.values())
    assert {parameter["name"] for parameter in known["mq"]["parameters"]} >= {"queues", "lifetime"}
