"""Every method, sets of roles, every kind of identity; the methods come from the protos.

Permission is checked before form, so an empty request tells: whoever lacks the
role is refused for that, and whoever has it for the request.
"""

import importlib
import itertools
import math
import pkgutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor

from entropyd import v1
from entropyd.config import Role
from tests.fakes.certificates import DAY
from tests.system.doors import Doors, client_table, token_of, token_table
from tests.system.harness import started

# A method that is added is a line here, or the first test fails. None: whoever has an identity.
NEEDED: dict[str, set[Role] | None] = {
    **{
        f"entropyd.v1.DrawService/{method}": {Role.DRAW}
        for method in ("DrawIntegers", "RollDice", "ShuffleItems", "Sample", "DrawFromBag")
    },
    "entropyd.v1.DrawService/ListDraws": {Role.DRAW, Role.AUDIT},
    "entropyd.v1.DrawService/ReplayMatch": {Role.DRAW, Role.AUDIT},
    "entropyd.v1.RaffleService/SealEntries": {Role.DRAW},
    "entropyd.v1.RaffleService/Draw": {Role.DRAW},
    "entropyd.v1.RaffleService/GetRaffle": {Role.DRAW, Role.AUDIT},
    **{
        f"entropyd.v1.FairService/{method}": {Role.DRAW}
        for method in (
            "OpenPair",
            "SetClientSeed",
            "PlayRound",
            "CloseRound",
            "VoidRound",
            "RotatePair",
        )
    },
    **{
        f"entropyd.v1.FairService/{method}": {Role.DRAW, Role.AUDIT}
        for method in ("GetPair", "GetRound", "ListRounds", "ListPairs")
    },
    **{
        f"entropyd.v1.LedgerService/{method}": None
        for method in (
            "GetReceipt",
            "ListReceipts",
            "GetCheckpoint",
            "GetInclusionProof",
            "GetConsistencyProof",
        )
    },
    **{
        f"entropyd.v1.HandService/{method}": {Role.DEAL}
        for method in ("OpenHand", "SealHand", "DealCards", "CloseHand")
    },
    "entropyd.v1.HandService/Contribute": {Role.DEAL, Role.CONTRIBUTE},
    "entropyd.v1.HandService/ShowCards": {Role.REVEAL},
    "entropyd.v1.HandService/RevealHand": {Role.REVEAL},
    "entropyd.v1.HandService/VoidHand": {Role.VOID},
    "entropyd.v1.HandService/GetHand": {Role.DEAL, Role.CONTRIBUTE, Role.AUDIT},
    "entropyd.v1.HandService/WatchHand": {Role.DEAL, Role.CONTRIBUTE, Role.AUDIT},
    "entropyd.v1.HandService/ListHands": {Role.DEAL, Role.AUDIT},
    "entropyd.v1.EntropyService/AddUserEntropy": {Role.CONTRIBUTE},
    "entropyd.v1.EntropyService/GetStatus": None,
    "entropyd.v1.EntropyService/WatchStatus": None,
    "entropyd.v1.ShuffleService/BatchShuffle": {Role.DEAL_ALL},
    "entropyd.v1.ShuffleService/GetShuffle": {Role.DEAL_ALL, Role.AUDIT},
    "entropyd.v1.ShuffleService/Shuffle": {Role.DEAL_ALL},
    "entropyd.v1.ShuffleService/StreamShuffles": {Role.DEAL_ALL},
}
# Not ours, and not the same at every door: reflection is for everybody where a listener is an
# identity, and for admins elsewhere; health is for everybody who can connect.
REFLECTION = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
HEALTH = "grpc.health.v1.Health/Check"

# A method asks for any of some roles. So each role alone says what it opens, all but one what it is
# needed for, pairs whether two get in each other's way; all sets would be thousands of channels.
SIZES = sorted({1, 2, len(Role) - 1, len(Role)})
SETS = [roles for size in SIZES for roles in itertools.combinations(Role, size)]
KINDS = ("socket", "certificate", "token in TLS", "token on the loopback")
STRANGERS = {
    "certificate of nobody": grpc.StatusCode.UNAUTHENTICATED,
    "no certificate": grpc.StatusCode.UNAVAILABLE,
    "certificate of another authority": grpc.StatusCode.UNAVAILABLE,
    "expired certificate": grpc.StatusCode.UNAVAILABLE,
    "certificate and a token": grpc.StatusCode.UNAUTHENTICATED,
    "no token in TLS": grpc.StatusCode.UNAUTHENTICATED,
    "unknown token in TLS": grpc.StatusCode.UNAUTHENTICATED,
    "no token on the loopback": grpc.StatusCode.UNAUTHENTICATED,
    "unknown token on the loopback": grpc.StatusCode.UNAUTHENTICATED,
    "token on a socket": grpc.StatusCode.UNAUTHENTICATED,
}


def methods() -> Iterator[MethodDescriptor]:
    """Walk every service of the protos."""
    for module in pkgutil.iter_modules(v1.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"{v1.__name__}.{module.name}").DESCRIPTOR
            for service in file.services_by_name.values():
                yield from service.methods


METHODS = {f"{method.containing_service.full_name}/{method.name}": method for method in methods()}


def test_every_method_of_the_protos_has_a_line():
    """Whoever adds a method says here who may call it."""
    assert set(METHODS) == set(NEEDED)


def name_of(roles: tuple[Role, ...]) -> str:
    return "has-" + "-".join(role.replace("_", "") for role in roles)


class Knock:
    """One channel, and what each call on it brings."""

    def __init__(self, channel: Any, token: str | None = None) -> None:
        self.channel = channel
        self.metadata = None if token is None else (("authorization", f"Bearer {token}"),)

    def at(self, method: str) -> grpc.StatusCode:
        """Call a method with an empty request and return how that ended."""
        described = METHODS.get(method)
        if method == REFLECTION or (described is not None and described.client_streaming):
            call = self.channel.stream_stream(f"/{method}")
            answers = call(iter([b""]), timeout=20, metadata=self.metadata)
        elif described is not None and described.server_streaming:
            answers = self.channel.unary_stream(f"/{method}")(
                b"", timeout=20, metadata=self.metadata
            )
        else:
            return self._unary(method)
        try:
            next(answers, None)
        except grpc.RpcError as error:
            return error.code()
        answers.cancel()
        return grpc.StatusCode.OK

    def _unary(self, method: str) -> grpc.StatusCode:
        try:
            self.channel.unary_unary(f"/{method}")(b"", timeout=20, metadata=self.metadata)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@pytest.fixture(scope="module")
def doors() -> Iterator[Doors]:
    """A daemon with an identity of each kind for each set of roles."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        doors = Doors(Path(path))
        clients, listeners = "", ""
        for roles in SETS:
            name = name_of(roles)
            clients += client_table("san", f"{name}.test", roles) + token_table(name, roles)
            names = ", ".join(f'"{role}"' for role in roles)
            listeners += (
                f'\n[[listener]]\naddress = "unix:{path}/{name}.sock"\ntenant = "acme"\n'
                f"roles = [{names}]\n"
            )
        with started(doors.daemon(clients, listeners=listeners)):
            yield doors


def knock(doors: Doors, kind: str, roles: tuple[Role, ...]) -> Knock:
    name = name_of(roles)
    match kind:
        case "socket":
            return Knock(grpc.insecure_channel(f"unix:{doors.home}/{name}.sock"))
        case "certificate":
            shown = doors.clients.issue(f"{name}.test")
            return Knock(doors.channel(doors.certificates, shown))
        case "token in TLS":
            return Knock(doors.channel(doors.tokens), token_of(name))
        case _:
            return Knock(doors.channel(doors.plain), token_of(name))


def stranger(doors: Doors, who: str) -> Knock:
    everything = name_of(tuple(Role))
    match who:
        case "certificate of nobody":
            return Knock(doors.channel(doors.certificates, doors.clients.issue("nobody.test")))
        case "no certificate":
            return Knock(doors.channel(doors.certificates))
        case "certificate of another authority":
            shown = doors.servers.issue(f"{everything}.test")
            return Knock(doors.channel(doors.certificates, shown))
        case "expired certificate":
            shown = doors.clients.issue(f"{everything}.test", begins=-2 * DAY, ends=-DAY)
            return Knock(doors.channel(doors.certificates, shown))
        case "certificate and a token":
            shown = doors.clients.issue(f"{everything}.test")
            return Knock(doors.channel(doors.certificates, shown), token_of(everything))
        case "token on a socket":
            channel = grpc.insecure_channel(f"unix:{doors.home}/{everything}.sock")
            return Knock(channel, token_of(everything))
    port = doors.tokens if who.endswith("TLS") else doors.plain
    return Knock(doors.channel(port), None if who.startswith("no ") else token_of("nobody"))


def is_let_in(method: str, kind: str, roles: tuple[Role, ...]) -> bool:
    """Whether the table says that a caller gets past the door."""
    if method == HEALTH or (method == REFLECTION and kind == "socket"):
        return True
    needed = {Role.ADMIN} if method == REFLECTION else NEEDED[method]
    return needed is None or not needed.isdisjoint(roles)


def test_the_matrix(doors, capsys):
    """Let in exactly where the table says so: everybody else gets PERMISSION_DENIED, no more."""
    cells = wrong = 0
    for kind, roles in itertools.product(KINDS, SETS):
        knocked = knock(doors, kind, roles)
        with knocked.channel:
            for method in (*NEEDED, REFLECTION, HEALTH):
                code = knocked.at(method)
                refused = code is grpc.StatusCode.PERMISSION_DENIED
                known = code in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}
                expected = is_let_in(method, kind, roles)
                cells += 1
                if (expected, not expected) != (known, refused):
                    wrong += 1
                    with capsys.disabled():
                        print(f"\n{method} as {name_of(roles)} by {kind}: {code}")
    with capsys.disabled():
        print(f"\nroles: {cells} cells of method x roles x identity, {wrong} wrong")
    assert wrong == 0
    assert cells == (len(NEEDED) + 2) * len(KINDS) * len(SETS)
    assert len(SETS) == sum(math.comb(len(Role), size) for size in SIZES)


def test_strangers(doors, capsys):
    """Nobody gets past any door without what it asks for, with health as the one exception."""
    told = {
        (who, method): stranger_code
        for who in STRANGERS
        for method, stranger_code in _knock_everywhere(stranger(doors, who)).items()
    }
    for (who, method), code in told.items():
        expected = STRANGERS[who]
        if expected is grpc.StatusCode.UNAUTHENTICATED:
            if method == HEALTH:
                expected = grpc.StatusCode.OK
            if method == REFLECTION and who == "token on a socket":
                expected = grpc.StatusCode.OK
        assert (who, method, expected) == (who, method, code)
    with capsys.disabled():
        print(f"\nroles: {len(told)} cells of method x stranger")


def _knock_everywhere(knocked: Knock) -> dict[str, grpc.StatusCode]:
    with knocked.channel:
        return {method: knocked.at(method) for method in (*NEEDED, REFLECTION, HEALTH)}
