"""Cache simulation: miss ratios and miss-ratio curves of replacement policies.

Requests are a trace, its file, or an array of keys. Functions use all cores and release the GIL. The manual lists
the policies and their sources (docs/cache-policies.md), including those of dos Santos 2015 (chapter 3).
Curves are computed with Mattson's stack algorithm (1970) and SHARDS (Waldspurger et al. 2015).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from manometer import _native, trace
from manometer._native import Frame
from manometer.errors import CacheError

if TYPE_CHECKING:
    from manometer._native import _Requests

__all__ = ["Parameter", "Policy", "Requests", "Words", "curves", "policies", "simulate"]

Words: TypeAlias = "npt.NDArray[np.integer[Any]] | Sequence[int]"
"""A one-dimensional array of whole numbers."""
Requests: TypeAlias = "trace.Trace | str | PathLike[str] | Words"
"""A trace, its file, or the keys of requests in order."""


class Parameter(TypedDict):
    """A parameter of a policy: `mq:lifetime=5000`.

    >>> (mq,) = [policy for policy in manometer.cache.policies() if policy["name"] == "mq"]
    >>> "lifetime" in [parameter["name"] for parameter in mq["parameters"]]
    True
    """

    name: str
    meaning: str
    default: float
    min: float
    max: float | None


class Policy(TypedDict):
    """A replacement policy and its source.

    >>> manometer.cache.policies()[0]["name"]
    'opt'
    """

    name: str
    about: str
    source: str
    parameters: list[Parameter]


def policies() -> list[Policy]:
    """Returns every policy with its parameters and its source.

    >>> {"lru", "arc", "s3-fifo"} <= {policy["name"] for policy in manometer.cache.policies()}
    True
    """
    return json.loads(_native.policies())


def simulate(
    requests: Requests,
    policies: str | Sequence[str],
    capacities: int | Sequence[int],
    *,
    sizes: Words | None = None,
    writes: npt.NDArray[np.bool_] | Sequence[bool] | None = None,
    times_ns: Words | None = None,
    by_size: bool = False,
    block_bytes: int | None = None,
    seed: int = 1,
) -> Frame:
    """Simulates every policy at every capacity, in one pass over the requests.

    Every request except deletes looks up its key. A key that is not cached is a miss; the policy decides on its
    admission.

    Args:
        requests: a trace, its file, or the keys, shape (n,), whole numbers of up to 64 bits. Arrays of 64 bits are not
            copied: do not change them in another thread.
        policies: names, optionally with parameters: `["lru", "mq:lifetime=5000"]`.
        capacities: in objects, or in bytes with `by_size`.
        sizes: with keys: the size of each request's object in bytes, shape (n,).
        writes: with keys: whether each request writes, shape (n,).
        times_ns: with keys: the time of each request, shape (n,).
        by_size: capacities are in bytes and objects have sizes; by default capacities are in objects.
        block_bytes: with a block trace: split requests into blocks of this size.
        seed: the seed of randomised policies.

    Returns:
        One row per policy and capacity: `policy`, `capacity`, `requests`, `misses`, `miss_ratio`, `byte_miss_ratio`
        (null without sizes), `bypassed`, `requests_per_second` (assumed for policies that need times, if the requests
        have none). `metadata` has `requests`, `keys` and `left_out`.

    Raises:
        CacheError: an unknown policy or parameter, a capacity below 1, or arrays of different lengths.
        TraceError: the trace cannot be read. Later damage is a `DamagedTraceWarning`.

    >>> simulated = manometer.cache.simulate([1, 2, 3, 1, 2, 3], "lru", [2, 3])
    >>> [(row["capacity"], row["misses"]) for row in simulated.rows()]
    [(2, 6), (3, 3)]
    """
    source, requested = _requested(requests, sizes, writes, times_ns, block_bytes, by_size)
    frame, damage = _native.simulate(requested, _policies(policies), _capacities(capacities), by_size, seed)
    if source is not None:
        trace.warn_of(damage, source)
    return frame


def curves(
    requests: Requests,
    policies: str | Sequence[str] = "lru",
    *,
    capacities: int | Sequence[int] = (),
    sizes: Words | None = None,
    writes: npt.NDArray[np.bool_] | Sequence[bool] | None = None,
    times_ns: Words | None = None,
    by_size: bool = False,
    block_bytes: int | None = None,
    rate: float | None = None,
    samples: int | None = None,
    seed: int = 1,
) -> Frame:
    """Computes miss-ratio curves: the miss ratio of policies over all cache sizes, in one pass over the requests.

    The curve of LRU is exact unless keys are sampled. Every other policy is simulated at each size, on a sample of
    65,536 keys if there are more.

    Args:
        requests: as in `simulate`, like `sizes`, `writes`, `times_ns`, `by_size`, `block_bytes` and `seed`.
        policies: names, optionally with parameters.
        capacities: the sizes; by default many, up to the size that holds all keys.
        sizes: with keys: the size of each request's object in bytes, shape (n,).
        writes: with keys: whether each request writes, shape (n,).
        times_ns: with keys: the time of each request, shape (n,).
        by_size: capacities are in bytes.
        block_bytes: with a block trace: split requests into blocks of this size.
        rate: sample about this share of the keys, above 0 and at most 1.
        samples: sample at most this many keys, in memory that does not grow with the trace.
        seed: the seed of the sample.

    Returns:
        One row per policy and size: `policy`, `capacity` in `unit` (`objects` or `bytes`), `miss_ratio`, `error`
        (half the width of the 95 % interval; null for exact values), `low`, `high` (its ends), `is_knee` (the curve
        falls less steeply from it on), `rate` (the share of sampled keys), `footprint` (the size of all keys), for
        `manometer.plot.cache_curves`. `metadata` has `requests` and `left_out`.

    Raises:
        CacheError: as in `simulate`; or both `rate` and `samples` are given, or `rate` is out of range.
        TraceError: the trace cannot be read. Later damage is a `DamagedTraceWarning`.

    >>> curve = manometer.cache.curves([1, 2, 3, 1, 2, 3], capacities=[2, 3])
    >>> [(row["capacity"], row["miss_ratio"]) for row in curve.rows()]
    [(2, 1.0), (3, 0.5)]
    """
    if rate is not None and samples is not None:
        raise CacheError("both rate and samples are given: give one of them")
    source, requested = _requested(requests, sizes, writes, times_ns, block_bytes, by_size)
    frame, damage = _native.curves(
        requested, _policies(policies), _capacities(capacities), by_size, rate, samples, seed
    )
    if source is not None:
        trace.warn_of(damage, source)
    return frame


def _requested(
    requests: Requests,
    sizes: Words | None,
    writes: npt.NDArray[np.bool_] | Sequence[bool] | None,
    times_ns: Words | None,
    block_bytes: int | None,
    by_size: bool,
) -> tuple[trace.Trace | None, _Requests]:
    if isinstance(requests, (str, PathLike)):
        requests = trace.open(fspath(requests))
    if isinstance(requests, trace.Trace):
        if sizes is not None or writes is not None or times_ns is not None:
            raise CacheError("sizes, writes and times_ns go with an array of keys: a trace has its own")
        return requests, (trace.native(requests), block_bytes)
    if block_bytes is not None:
        raise CacheError("block_bytes goes with a trace of a device: keys have no blocks")
    if by_size and sizes is None:
        raise CacheError("by_size counts bytes: give the sizes of the keys' objects")
    return None, (
        _words("keys", requests, signed=True),
        None if sizes is None else _words("sizes", sizes),
        None if writes is None else _flags(writes),
        None if times_ns is None else _words("times_ns", times_ns),
    )


def _words(name: str, values: Words, *, signed: bool = False) -> npt.NDArray[np.uint64]:
    """Converts to unsigned 64-bit numbers, without a copy if possible; negative keys remain distinct."""
    array: npt.NDArray[Any] = np.asarray(values)
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise CacheError(
            f"{name} have shape {array.shape} and type {array.dtype}: give whole numbers in one dimension; texts "
            "become such by numpy.unique(texts, return_inverse=True)[1]"
        )
    if not signed and array.dtype.kind == "i" and array.min() < 0:
        raise CacheError(f"{name} hold {array.min()}: none can be below 0")
    kind = np.int64 if array.dtype.kind == "i" else np.uint64
    wide = np.require(array, kind, ["C", "A"])
    return wide.view(np.uint64)  # pyright: ignore[reportUnknownMemberType]


def _flags(writes: npt.NDArray[np.bool_] | Sequence[bool]) -> npt.NDArray[np.uint8]:
    array: npt.NDArray[Any] = np.asarray(writes)
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind != "b"):
        raise CacheError(f"writes have shape {array.shape} and type {array.dtype}: give flags in one dimension")
    return np.require(array, np.bool_, ["C", "A"]).view(np.uint8)  # pyright: ignore[reportUnknownMemberType]


def _policies(policies: str | Sequence[str]) -> list[str]:
    return [policies] if isinstance(policies, str) else list(policies)


def _capacities(capacities: int | Sequence[int]) -> list[int]:
    array = [capacities] if isinstance(capacities, (int, np.integer)) else list(capacities)
    for capacity in array:
        if not isinstance(capacity, (int, np.integer)) or not 1 <= capacity <= 1 << 63:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CacheError(f"{capacity} is not a capacity: write a whole number from 1 to 2^63")
    return [int(capacity) for capacity in array]
