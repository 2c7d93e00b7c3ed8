"""What is recorded of each step of a line of pairs, as bytes and back.

JSON with sorted names: a person can read it, and the same record is the same
bytes. What belongs to a round that goes on is in the secret part.

Spec: docs/protocol.md, "Life of a line of pairs".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from entropyd.errors import InternalError
from entropyd.games.round_rules import RoundRules, decode_rules
from entropyd.games.seed_pair import Profile

# Why the daemon ends what nobody ended in time.
EXPIRED = "expired"
ROTATED = "rotated"
# What every round is, and its record says: expanded from one seed of 256 bits.
COMPUTATIONAL = "computational"
# 128 words of one draw were rejected.
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round as it was played: nonce, rules and outcome are one record.

    Attributes:
        round_id: its id.
        pair: the number of its pair.
        nonce: its number in the pair, from 0.
        server_hash: of the pair, 32 bytes.
        client_seed: what it was played with.
        rules: its canonical lines.
        stays_open: it goes on until it is closed or voided.
        outcome: as in a round file; None if it was voided as it was played, or if it was read
            without the secret part that it stands in.
    """

    round_id: str
    pair: int
    nonce: int
    server_hash: bytes
    client_seed: str
    rules: bytes
    stays_open: bool
    outcome: Mapping[str, Any] | None = field(repr=False)

    @property
    def void_reason(self) -> str:
        """Why it does not count from the start; empty if it does."""
        return REJECTED if self.outcome is None else ""

    @property
    def decoded_rules(self) -> RoundRules:
        """The rules that its lines spell."""
        return decode_rules(self.rules)

    def encode(self) -> tuple[bytes, bytes]:
        """Return the public and the secret part."""
        public = {
            "client_seed": self.client_seed,
            "nonce": self.nonce,
            "pair": self.pair,
            "round": self.round_id,
            "rules": self.rules.decode("ascii"),
            "seeds": COMPUTATIONAL,
            "server_hash": self.server_hash.hex(),
            "stays_open": self.stays_open,
        }
        if self.stays_open:
            return _dump(public), _dump(self.outcome)
        return _dump(public | {"outcome": self.outcome}), b""


def decode_round(public: bytes, secret: bytes) -> RoundRecord:
    """Return the round that `RoundRecord.encode` wrote.

    Args:
        public: as it was written.
        secret: as it was written; empty if it is there no more.

    Raises:
        InternalError: the bytes are no such record.
    """
    found = _load(public)
    try:
        return RoundRecord(
            round_id=found["round"],
            pair=found["pair"],
            nonce=found["nonce"],
            server_hash=bytes.fromhex(found["server_hash"]),
            client_seed=found["client_seed"],
            rules=found["rules"].encode("ascii"),
            stays_open=found["stays_open"],
            outcome=_outcome(found, secret),
        )
    except (KeyError, ValueError) as error:
        raise InternalError("the record of a round is damaged") from error


def _outcome(public: Mapping[str, Any], secret: bytes) -> Mapping[str, Any] | None:
    if not public["stays_open"]:
        outcome: Mapping[str, Any] | None = public["outcome"]
        return outcome
    return _load(secret) if secret else None


@dataclass(frozen=True, slots=True)
class RevealRecord:
    """A pair that was revealed. The seed is public from here on.

    Attributes:
        profile: its scheme.
        pair: its number.
        server_seed: 32 bytes.
        server_hash: as it was published, 32 bytes.
        rounds: how many it had.
        reason: ROTATED or EXPIRED.
        voided: rounds that were open when it expired.
        provenance: where the bits of the newest seed came from, as an encoded message.
    """

    profile: Profile
    pair: int
    server_seed: bytes
    server_hash: bytes
    rounds: int
    reason: str
    voided: tuple[str, ...]
    provenance: bytes

    def encode(self) -> bytes:
        """Return its bytes; none of them is secret any more."""
        return _dump(
            {
                "pair": self.pair,
                "profile": self.profile.value,
                "provenance": self.provenance.hex(),
                "reason": self.reason,
                "rounds": self.rounds,
                "server_hash": self.server_hash.hex(),
                "server_seed": self.server_seed.hex(),
                "voided": list(self.voided),
            }
        )


def decode_reveal(public: bytes) -> RevealRecord:
    """Return the pair that `RevealRecord.encode` wrote.

    Raises:
        InternalError: the bytes are no such record.
    """
    found = _load(public)
    try:
        return RevealRecord(
            profile=Profile(found["profile"]),
            pair=found["pair"],
            server_seed=bytes.fromhex(found["server_seed"]),
            server_hash=bytes.fromhex(found["server_hash"]),
            rounds=found["rounds"],
            reason=found["reason"],
            voided=tuple(found["voided"]),
            provenance=bytes.fromhex(found["provenance"]),
        )
    except (KeyError, ValueError) as error:
        raise InternalError("the record of a revealed pair is damaged") from error


@dataclass(frozen=True, slots=True)
class EndRecord:
    """How an open round ended.

    Attributes:
        round_id: its id.
        void_reason: why it does not count; empty if it was closed.
    """

    round_id: str
    void_reason: str

    def encode(self) -> bytes:
        """Return its bytes."""
        return _dump({"round": self.round_id, "void_reason": self.void_reason})


def decode_end(public: bytes) -> EndRecord:
    """Return the end that `EndRecord.encode` wrote.

    Raises:
        InternalError: the bytes are no such record.
    """
    found = _load(public)
    try:
        return EndRecord(found["round"], found["void_reason"])
    except KeyError as error:
        raise InternalError("the record of the end of a round is damaged") from error


def encode_opening(provenance: bytes) -> bytes:
    """Return what is recorded of an opened line besides its snapshot."""
    return _dump({"provenance": provenance.hex()})


def decode_opening(public: bytes) -> bytes:
    """Return the provenance that `encode_opening` wrote.

    Raises:
        InternalError: the bytes are no such record.
    """
    try:
        return bytes.fromhex(_load(public)["provenance"])
    except (KeyError, ValueError) as error:
        raise InternalError("the record of an opened line is damaged") from error


def _dump(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _load(encoded: bytes) -> Any:
    try:
        return json.loads(encoded)
    except ValueError as error:
        raise InternalError("a record of a line of pairs is damaged") from error
