"""An SSH server on the loopback address that runs commands as its own user: HOST_KEY AUTHORIZED_KEYS."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any

import asyncssh


async def run(process: asyncssh.SSHServerProcess[Any]) -> None:
    child = await asyncio.create_subprocess_shell(process.command or "sh", stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    # An error that leaves here, such as that of pipes tied to a child that is gone, ends the whole connection.
    output, errors = await child.communicate()
    process.stdout.write(output)
    process.stderr.write(errors)
    process.exit(child.returncode or 0)


async def serve(host_key: str, authorized_keys: str) -> None:
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=authorized_keys,
        process_factory=run,
        sftp_factory=True,
        encoding=None,
    )
    print(server.get_port(), flush=True)
    await server.wait_closed()


asyncio.run(serve(*sys.argv[1:]))
