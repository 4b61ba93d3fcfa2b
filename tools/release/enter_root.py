"""Runs a command in another root as another user, as a container would: `enter_root.py ROOT UID:GID FOLDER COMMAND …`.

The caller has made the namespaces: `unshare --net --mount --pid --fork --kill-child`.
"""

from __future__ import annotations

import os
import subprocess
import sys


def main(root: str, user: str, folder: str, command: list[str]) -> None:
    uid, gid = (int(word) for word in user.split(":"))
    subprocess.run(["mount", "-t", "proc", "proc", f"{root}/proc"], check=True)
    subprocess.run(["mount", "--bind", "/dev", f"{root}/dev"], check=True)
    os.chroot(root)
    os.chdir(folder)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    # Of the environment nothing: not the caller's PATH, nor its settings of pip and cargo.
    os.execve(command[0], command, {"HOME": folder, "PATH": path, "LC_ALL": "C.UTF-8"})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
