"""The wheel has no input that chooses a deck, a seed or a position: environment and command line.

The other two ways in are walked where they are tested: the messages in
tests/unit/test_schema.py, the configuration in tests/unit/test_config.py and in
docs/switches.md. `test_wheel` shows that the wheel holds those very modules.
"""

import ast
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from entropyd.cli import entropyd

# Every variable that is read, with the reason why it changes no draw.
ENVIRONMENT = {
    "CREDENTIALS_DIRECTORY": "where keys are: who can read a record, and nothing of what is in it",
    "NOTIFY_SOCKET": "where the service manager is told how we are",
    "GRPC_VERBOSITY": "how much gRPC itself says on standard error",
    "ENTROPYCTL_TARGET": "which daemon is asked",
    "ENTROPYCTL_CLAIM_KEY": "who may read a hand again; no input of a draw",
    "ENTROPYCTL_CA": "whom entropyctl believes to be the daemon",
    "ENTROPYCTL_CERT": "as whom entropyctl calls",
    "ENTROPYCTL_KEY": "as whom entropyctl calls",
    "ENTROPYCTL_TOKEN_FILE": "as whom entropyctl calls",
}
# Where the environment is handed on whole, and to whom.
WHOLE = {"entropyd/daemon/feeding.py": "watchdog_limit_ns"}
# `watchdog_limit_ns` reads these two of what it is handed.
HANDED_ON = {"entropyd/ops/notify.py": {"WATCHDOG_USEC", "WATCHDOG_PID"}}

# Options of the daemon. A command that is added is added here, with a look at what it can do.
COMMAND_LINE = {"serve": {"config"}, "check-config": {"file"}}

READERS = frozenset({"environ", "environb", "getenv", "getenvb"})


@pytest.fixture(scope="module")
def modules(wheel: Path) -> dict[str, ast.Module]:
    """Name -> syntax tree of every module in the wheel but the generated stubs."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: ast.parse(archive.read(name))
            for name in archive.namelist()
            if name.endswith(".py") and not name.startswith("entropyd/v1/")
        }


def is_reader(node: ast.AST) -> bool:
    """os.environ, os.getenv and their like, by whatever name `os` goes."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in READERS
        and isinstance(node.value, ast.Name)
    )


def text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "*"


def variables(module: ast.Module) -> Iterator[str]:
    """Every variable that a module reads, and "*" for each use that does not say which."""
    named: set[ast.AST] = set()
    for node in ast.walk(module):
        match node:
            case ast.Call(
                func=ast.Attribute(value=reader, attr="get" | "setdefault"), args=[key, *_]
            ) if is_reader(reader):
                named.add(reader)
                yield text_of(key)
            case ast.Call(func=reader, args=[key, *_]) if is_reader(reader):
                named.add(reader)
                yield text_of(key)
            case ast.Subscript(value=reader, slice=key) if is_reader(reader):
                named.add(reader)
                yield text_of(key)
            case ast.keyword(arg="envvar", value=key):
                yield text_of(key)
    for node in ast.walk(module):
        if is_reader(node) and node not in named:
            yield "*"
        if isinstance(node, ast.ImportFrom) and READERS & {alias.name for alias in node.names}:
            yield "*"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("os.environ.get('A')", ["A"]),
        ("os.getenv('B', '')", ["B"]),
        ("os.environ.setdefault('F', '')", ["F"]),
        ("o.environb['C']", ["*"]),
        ("os.environ['D']", ["D"]),
        ("f(os.environ)", ["*"]),
        ("os.environ.items()", ["*"]),
        ("os.environ.get(name)", ["*"]),
        ("from os import getenv", ["*"]),
        ("typer.Option(envvar='E')", ["E"]),
        ("environ['REQUEST_METHOD']", []),
    ],
)
def test_the_walk_finds_what_reads_the_environment(code, expected):
    """A bytes key is as good as none: nobody here has a reason for one."""
    code = code.replace("'C'", "b'C'")
    assert expected == list(variables(ast.parse(code)))


def test_nothing_is_read_of_the_environment_but_what_is_listed(modules):
    """A variable that is added must be judged by a person and listed with the reason."""
    assert len(modules) > 80
    found = {(name, each) for name, module in modules.items() for each in variables(module)}
    assert set(ENVIRONMENT) == {each for _, each in found} - {"*"}
    assert set(WHOLE) == {name for name, each in found if each == "*"}


def test_what_is_handed_the_environment_reads_the_watchdog_alone(modules):
    """The parameter `environ` of notify.py; the one of http.py is a request."""
    for name, expected in HANDED_ON.items():
        read = {
            text_of(node.args[0])
            for node in ast.walk(modules[name])
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "environ"
        }
        assert expected == read


def test_no_module_takes_a_draw_from_pythons_own_generators(modules):
    """Neither `random` nor `secrets` nor `uuid` is imported, also not inside of a function."""
    forbidden = {"random", "secrets", "uuid"}
    for name, module in modules.items():
        for node in ast.walk(module):
            imported: set[str] = set()
            if isinstance(node, ast.Import):
                imported = {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported = {(node.module or "").partition(".")[0]}
            assert not imported & forbidden, name


def test_the_daemon_is_started_with_a_file_and_nothing_else():
    """No option of `serve` goes past the configuration, whose every key is judged."""
    commands = typer.main.get_command(entropyd.app).commands  # type: ignore[attr-defined]
    for name, expected in COMMAND_LINE.items():
        options = {option.name for option in commands[name].params}
        assert expected == options
