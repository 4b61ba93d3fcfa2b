"""An SSH server on the loopback address that runs commands as its own user: HOST_KEY AUTHORIZED_KEYS."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import asyncssh


async def run(process: asyncssh.SSHServerProcess[Any]) -> None:
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_shell(process.command or "sh", stdin=pipe, stdout=pipe, stderr=pipe)
    await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
    process.exit(await child.wait())


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
