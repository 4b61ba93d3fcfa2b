"""Hosts on networks of their own: a network namespace each, behind a link with a delay, and with its own clock."""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

# ioctl of a tunnel device: packets without a header.
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_PACKET_MAX = 65536


def missing() -> str:
    """What this machine lacks for it; nothing if it has all."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    made = subprocess.run(["unshare", "--net", "--time", "--monotonic", "1", "true"], capture_output=True, text=True)
    return made.stderr.strip()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _tunnel(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


class _Link(threading.Thread):
    """Carries packets between two devices, each after a delay."""

    def __init__(self, one: int, other: int, delay_s: float) -> None:
        super().__init__(daemon=True)
        self._ends, self._delay_s = {one: other, other: one}, delay_s
        self._under_way: list[tuple[float, int, int, bytes]] = []
        self.is_over = False

    def run(self) -> None:
        number = 0
        while not self.is_over:
            left_s = self._under_way[0][0] - time.monotonic() if self._under_way else 0.1
            ready, _, _ = select.select(list(self._ends), [], [], max(0.0, min(left_s, 0.1)))
            for end in ready:
                number += 1
                packet = os.read(end, _PACKET_MAX)
                heapq.heappush(self._under_way, (time.monotonic() + self._delay_s, number, self._ends[end], packet))
            while self._under_way and self._under_way[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(self._under_way)
                os.write(end, packet)


@contextmanager
def delayed_host(number: int, delay_s: float, clock_s: int) -> Iterator[tuple[str, str, list[str]]]:
    """A host `delay_s` away, whose monotonic clock is `clock_s` ahead: its own address, the address of this machine as
    it sees it, and the words that start a program on it.
    """
    base = f"10.77.{os.getpid() % 200 + number}"
    name, device = f"mano-{os.getpid()}-{number}", f"mano{os.getpid() % 100000}-{number}"
    with ExitStack() as stack:
        _ip("netns", "add", name)
        stack.callback(_ip, "netns", "del", name)
        here, there = _tunnel(f"{device}h"), _tunnel(f"{device}t")
        stack.callback(os.close, here)
        stack.callback(os.close, there)
        _ip("link", "set", f"{device}t", "netns", name)
        _ip("address", "add", f"{base}.1/24", "dev", f"{device}h")
        _ip("link", "set", f"{device}h", "up")
        _ip("-n", name, "address", "add", f"{base}.2/24", "dev", f"{device}t")
        _ip("-n", name, "link", "set", f"{device}t", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        link = _Link(here, there, delay_s)
        link.start()

        def end() -> None:
            link.is_over = True
            link.join()

        stack.callback(end)
        words = ["ip", "netns", "exec", name, "unshare", "--time", "--monotonic", str(clock_s), "--fork"]
        yield f"{base}.2", f"{base}.1", [*words, "--kill-child"]
