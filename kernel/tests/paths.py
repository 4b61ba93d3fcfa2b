#!/usr/bin/env python3
"""Prints what the kernels counted for paths, and fails where backward look-up did not do what it is for.

`paths.py PLAIN PATCHED QEMU`: the directories that the guests wrote, and that with the consoles of those under qemu.
"""

import re
import sys
from pathlib import Path

# The look-ups of a path in the dentry cache and in the index, when every directory of it is known.
WARM_MAX = 2
# In the replay, of those that are made when it is off.
REPLAY_MAX = 0.5
SLOW_DIFFERENCE_MAX = 0.01
# What the random accesses of one run have to have met at least, so that they can show anything.
MET_MIN = {"backward_hit": 10_000, "backward_stale": 100, "backward_add": 100}


def counters(words: list[str]) -> dict[str, int]:
    """Names and counts, one after the other."""
    return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def read_depths(lines: list[str]) -> dict[tuple[str, int], dict]:
    """By operation and depth, for one operation: nanoseconds, and the look-ups of both kinds."""
    found = {}
    for words in (line.split() for line in lines if line.startswith("depth ")):
        counts = counters(words[3:])
        found[words[2], int(words[1])] = {
            "ns": counts["ns"], "dentry": counts["dcache_lookup"] / 1000, "index": counts["backward_probe"] / 1000}
    return found


def read_replay(path: Path) -> dict[str, int]:
    """What was counted while the tree was read, after it was made."""
    words = path.read_text().splitlines()[1].split()
    return counters(words[1:])


def looked_up(counts: dict[str, int]) -> int:
    """The look-ups in the dentry cache and in the index."""
    return counts["dcache_lookup"] + counts["backward_probe"]


def print_table(rows: list[dict]) -> None:
    """Prints the rows as Markdown."""
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    print()


def check_depths(plain: dict, off: dict, on: dict) -> list[str]:
    """Known directories have to take the same look-ups at any depth."""
    print_table([{
        "operation": operation, "directories": depth,
        "dentry look-ups, off": f"{off[operation, depth]['dentry']:g}",
        "on": f"{on[operation, depth]['dentry']:g}", "index look-ups, on": f"{on[operation, depth]['index']:g}",
        "instructions, plain": plain[operation, depth]["ns"], "off": off[operation, depth]["ns"],
        "on ": on[operation, depth]["ns"]} for operation, depth in sorted(plain)])
    return [f"{operation} at depth {depth}: {one['dentry']:g} + {one['index']:g} look-ups"
            for (operation, depth), one in on.items() if one["dentry"] + one["index"] > WARM_MAX]


def check_replay(off: dict, on: dict) -> list[str]:
    """A replay has to take fewer look-ups, and as many of the file system."""
    print_table([{
        "replay": name, "opens": counts["opens"], "dentry look-ups": counts["dcache_lookup"],
        "index look-ups": counts["backward_probe"], "slow look-ups": counts["dcache_slow_lookup"],
        "entries added": counts["backward_add"]} for name, counts in {"off": off, "on": on}.items()])
    found = []
    if looked_up(on) > REPLAY_MAX * looked_up(off):
        found.append(f"replay: {looked_up(on)} look-ups, and {looked_up(off)} when off")
    slow = off["dcache_slow_lookup"]
    if not slow or abs(on["dcache_slow_lookup"] / slow - 1) > SLOW_DIFFERENCE_MAX:
        found.append(f"replay: {on['dcache_slow_lookup']} slow look-ups, and {off['dcache_slow_lookup']}")
    return found


def too_few(what: str, met: dict[str, int]) -> list[str]:
    """What a run has not met often enough."""
    few = [name for name, least in MET_MIN.items() if met.get(name, 0) < least]
    return [f"{what}: met {met.get(name, 0)} {name}, too few" for name in few]


def totals(console: str) -> dict[str, int]:
    """What a guest under qemu had counted when it ended with the index on."""
    return {name: int(value) for name, value in re.findall(r"^total 1 (\w+) (\d+)", console, re.MULTILINE)}


def check_random(plain: Path, others: dict[str, Path], met: dict[str, int]) -> list[str]:
    """Each access has to give in each kernel what it gives in the plain one, and each time the same."""
    expected = plain.read_text().splitlines()
    accesses = [line for line in expected if line[0].isdigit() and " change " not in line]
    # A result is -errno, or the number of an object; two in one number.
    succeeded = sum(int(line.split()[-1]) >= 0 for line in accesses)
    print(f"Random accesses: {len(accesses)} paths, of which {succeeded} led somewhere; "
          f"{sum(' change ' in line for line in expected)} changes; met: {met}\n")
    found = [f"random, plain: {line}" for line in expected if " turn " in line]
    for name, path in others.items():
        given = path.read_text().splitlines()
        differing = [(one, other) for one, other in zip(expected, given, strict=False) if one != other]
        if differing or len(expected) != len(given):
            found.append(f"random, {name}: {len(differing)} lines differ, the first {differing[:1]}")
    return found + too_few("random", met)


def check_both_modes(console: str) -> list[str]:
    """What the kernel with its own checks gave at random, off and on, on another file system than the others."""
    modes = [re.findall(rf"^mode {mode} (.*)", console, re.MULTILINE) for mode in (0, 1)]
    if not modes[0] or modes[0] != modes[1]:
        return [f"random, debug: {len(modes[0])} and {len(modes[1])} lines, which differ"]
    unequal = [f"random, debug: {line}" for line in modes[0] if " turn " in line]
    return unequal + too_few("random, debug", totals(console))


def check_race(name: str, console: str) -> list[str]:
    """No access may give what the state in which it began and ended does not allow."""
    lines = re.findall(r"mode (\d) race rounds (\d+) accesses (\d+) wrong (\d+) (.*)", console)
    print_table([{
        "accesses during changes": f"{name}, {'on' if mode == '1' else 'off'}",
        "states": int(rounds) * 16, "accesses": accesses, "wrong": wrong,
        **{counter.replace("_", " "): value for counter, value in counters(counts.split()).items()}}
        for mode, rounds, accesses, wrong, counts in lines])
    found = re.findall(r"race: .*", console)
    if [line[0] for line in lines] != ["0", "1"] or any(line[3] != "0" for line in lines):
        found.append(f"{name}: did not end well")
    return found + too_few(name, totals(console))


def main() -> int:
    """Prints all tables; fails if anything is wrong."""
    plain, patched, qemu = (Path(path) for path in sys.argv[1:])
    depths = {(name, mode): [line.split(maxsplit=2)[2] for line in (qemu / name).read_text().splitlines()
                             if line.startswith(f"mode {mode} ")]
              for name, mode in (("plain", 0), ("patched", 0), ("patched", 1))}
    found = check_depths(*(read_depths(lines) for lines in depths.values()))
    found += check_replay(read_replay(patched / "replay.0"), read_replay(patched / "replay.1"))
    found += check_random(
        plain / "random.0",
        {"off": patched / "random.0", "on": patched / "random.1"},
        counters((patched / "random-counts.1").read_text().split()))
    for name in ("race", "debug-race"):
        found += check_race(name, (qemu / name).read_text())
    found += check_both_modes((qemu / "debug-random").read_text())
    for one in found:
        print(one, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
