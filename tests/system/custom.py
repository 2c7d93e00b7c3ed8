"""A daemon with a configuration of its own: the harness's, with some of it changed."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.system.harness import CONFIG, Daemon, free_port


def custom_daemon(
    home: Path,
    changes: Mapping[str, str] | None = None,
    *,
    append: str = "",
    prefix: Sequence[str] = (),
) -> Daemon:
    """Return a daemon that is not started yet.

    Args:
        home: its directory.
        changes: old text of the configuration to new; `{home}` stands for the directory.
        append: further tables.
        prefix: command that runs it.
    """
    port = free_port()
    text = CONFIG.format(home=home, options="", source_extra="", gate="", http_port=port)
    for old, new in (changes or {}).items():
        before = text
        text = text.replace(old.replace("{home}", str(home)), new.replace("{home}", str(home)))
        assert text != before, f"nothing to change: {old}"
    return Daemon(home, config=text + append, http_port=port, prefix=prefix)
