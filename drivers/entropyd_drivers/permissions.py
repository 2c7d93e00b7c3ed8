"""What to tell an operator whose daemon may not open a device node."""

import grp
import os
from pathlib import Path


def denied(path: str) -> str:
    """Return why this process may not open `path`, and the remedy.

    Names the node, its group and mode, and who this process is: a refusal
    that says only "permission denied" ends in mode 0666 on the node.
    """
    return (
        f"may not open {path} ({_owner(path)}); this process has user id {os.geteuid()} and group"
        f" ids {_own_groups()}; install drivers/udev/60-entropyd.rules (group entropyd, mode 0660),"
        " add the daemon's user to group entropyd and plug the device in again"
    )


def _owner(path: str) -> str:
    try:
        status = Path(path).stat()
    except OSError:
        return "group and mode unknown"
    return f"group {_group_name(status.st_gid)}, mode {status.st_mode & 0o7777:04o}"


def _group_name(group_id: int) -> str:
    try:
        return grp.getgrgid(group_id).gr_name
    except KeyError:
        return str(group_id)


def _own_groups() -> str:
    return ", ".join(str(group) for group in sorted({os.getegid(), *os.getgroups()}))
