"""The addresses of a cluster's processes."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

from distributed.security import Security

from manometer.errors import ClusterError

# How long a process may take to answer a connection, in seconds.
CONNECT_S = 20
PORT_MAX = 65_535
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def checked_address(address: str, security: Security | None) -> str:
    """The address with its scheme. Connections that leave the machine need certificates.

    Raises:
        ClusterError: `address` has none, or is no address.
    """
    scheme, _, rest = address.rpartition("://")
    place, _, port = rest.rpartition(":")
    if not place or not port.isdecimal() or int(port) > PORT_MAX or scheme not in ("", "tcp", "tls"):
        raise ClusterError(f"{address} is not an address: write `tls://HOST:PORT`")
    if security is None and (scheme == "tls" or place not in LOOPBACK):
        raise ClusterError(
            f"{address} needs certificates, since whoever can connect can run programs: make them with `manometer "
            "cluster init DIR`, copy them to every host, and give --security DIR"
        )
    return f"{'tls' if security else 'tcp'}://{rest}"
