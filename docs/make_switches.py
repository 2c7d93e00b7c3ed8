# ruff: noqa: INP001 - a program, and no package
"""Make docs/switches.md from the configuration's schema, or with --check say whether it is current.

Type, default and range come from the schema and from the drivers. Whether a key
can change an outcome is a person's judgement and stands here: a key without a
row fails, and so does a row without a key.
"""

import argparse
import collections.abc
import importlib
import json
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from entropyd import units
from entropyd.config import Config
from entropyd.config.endpoints import TcpEndpoint, UnixEndpoint
from entropyd.config.explain import known_keys, table_of
from entropyd.entropy.source import DRIVER_ENTRY_POINTS

TARGET = Path(__file__).parent / "switches.md"

# How the unit in an attribute's name, or its type, is called.
UNITS = {"_ns": "duration", "_bytes": "size", "_millibits": "number"}
WORDS: Mapping[object, str] = {
    bool: "true or false",
    int: "whole number",
    str: "text",
    Path: "path",
    tuple: "list",
    typing.Literal: "text",
    collections.abc.Mapping: "table",
    TcpEndpoint: "address",
    UnixEndpoint: "address",
}

# Key -> "no" or "yes", and why. "yes" means: decks come out otherwise, because another source,
# other samples or another text enter a draw. It never means that anybody can choose or foresee it.
OUTCOME = {
    "node.name": "yes: hashed once into the DRBG as personalization string, beside 448 credited"
    " bits; it names the history",
    "node.origin": "no: it names the log",
    "node.state_dir": "yes: which hands are spent stands there and nowhere else; with an empty one"
    " a hand id is drawn anew, which `ledger.anchor` refuses",
    "node.serves_tables": "no: hands of other tables are refused",
    "source.id": "yes: hashed beside its samples, and sources are mixed in the order of their ids",
    "source.driver": "yes: it delivers the samples; answers name it",
    "source.claim_bits_per_sample": "yes: a lower claim mixes more samples into a seed. A claim"
    " above the truth opens the gate on less entropy than it says; assessment lowers the credit"
    " where it can tell",
    "source.claim_note": "no: for auditors",
    "source.required": "yes: with false, dealing goes on from the other sources while this one is"
    " lost; answers say `degraded`. The gate stays as it is",
    "source.alpha_log2.intermittent": "yes: which windows of samples are thrown away",
    "source.alpha_log2.permanent": "yes: when the source is latched off and gives no more samples",
    "source.first_assessment_samples": "yes: which samples are the first that count",
    "source.assess_window_samples": "yes: over how many samples credit is assessed, so how many are"
    " mixed into a seed",
    "source.options": "yes: which device is read, and how; see below",
    "gate.hardware_bits": "yes: how many hardware samples are mixed into a seed; never fewer than"
    " are worth 320 bits",
    "gate.min_hardware_sources": "yes: how many sources give hardware samples to a seed, each as"
    " many as one alone would give",
    "gate.user_bits": "yes: how much user data a seed waits for, or how many hardware samples cover"
    " for it",
    "gate.user_shortfall": "yes: whether missing user data is covered by more hardware samples,"
    " waited for, or done without (answers then say `degraded`)",
    "gate.max_sample_age": "yes: when samples are stirred into the DRBG instead of into a seed",
    "gate.max_hold": "no: when a draw that waits is told to come back",
    "gate.answer_before_deadline": "no: as max_hold",
    "gate.max_waiters": "no: how many may wait",
    "gate.reservoir_bytes": "yes: which samples are stirred into the DRBG when no more have room",
    "draws.large_seeds": "yes: from how many seeds on a draw is made from one, where its caller"
    " asked for that; its rules then say so. A draw that waits for all of them is the same",
    "fair.profile": "yes: how a pair that does not say it turns its seeds into rounds; its hash is"
    " published before anything is played",
    "fair.reveal_after": "yes: from when on rounds are played on the next pair, whose hash was"
    " published before",
    "fair.max_rounds": "yes: as reveal_after",
    "hands.per_table_open": "no: it only refuses to open another hand",
    "hands.per_table_dealing": "no: it only refuses to begin to deal another hand",
    "hands.expire_after": "no: when a hand that has not ended is void, in public",
    "hands.max_contribute_for": "no: it only refuses to open a hand; what seats contribute is their"
    " own",
    "listener.address": "no: where calls come in",
    "listener.tls.cert": "no: who we say that we are",
    "listener.tls.key": "no: as tls.cert",
    "listener.tls.client_ca": "no: who may call",
    "listener.tenant": "yes: hashed into every draw of its hands; its users' data is mixed into"
    " its draws alone",
    "listener.roles": "no: who may ask for what",
    "listener.max_calls": "no: how many may call at once",
    "listener.mode": "no: who may open the socket",
    "listener.owner": "no: as mode",
    "listener.group": "no: as mode",
    "client.san": "no: who may call",
    "client.token_sha256": "no: who may call",
    "client.tenant": "yes: as the tenant of a listener",
    "client.roles": "no: who may ask for what",
    "client.max_calls": "no: how many may call at once",
    "http.address": "no: where metrics are read",
    "ledger.anchor": "no: it only refuses a ledger that lost hands",
    "ledger.min_free": "no: it only refuses draws",
    "ledger.hot_for": "no: when hands may be moved to an archive",
    "ledger.secrets_for": "no: when the secrets of hands that were dealt may be destroyed",
    "keys.at_rest": "no: it encrypts what was drawn",
    "keys.receipts": "no: it signs what was drawn",
    "keys.checkpoints": "no: it signs what was logged",
    "log.level": "no",
    "log.format": "no",
    "mode.production": "no: false allows what the last column names; receipts of a source that is"
    " not hardware say `mock`",
}

# Key -> what is accepted with `production = false` and refused otherwise.
DEVELOPMENT_ONLY = {
    "node.state_dir": "a relative path",
    "source.driver": "mock, quantis-emulator, replay",
    "source.first_assessment_samples": "1024 to 65535",
    "gate.user_bits": "1 to 248",
    "listener.address": "a relative path, port 0",
    "listener.tls.cert": "a relative path",
    "listener.tls.key": "a relative path",
    "listener.tls.client_ca": "a relative path",
    "http.address": "port 0",
    "ledger.anchor": "a relative path",
    "keys.at_rest": '"", a relative path',
    "keys.receipts": '"", a relative path',
    "keys.checkpoints": '"", a relative path',
}

# Driver -> option -> as OUTCOME. Drivers for development choose samples; getrandom is mixed in
# beside them all the same, so that not even there anybody chooses a deck.
_QUANTIS = {
    "serial": "yes: which device is read",
    "read_bytes": "no: how many samples come at once",
    "read_timeout_ms": "no: when a silent device counts as lost",
    "status_every_reads": "no: how soon a failed module is noticed",
}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "quantis-usb": _QUANTIS,
    "serial": {
        "path": "yes: which device is read",
        "baud": "yes: at a wrong speed other samples arrive, and tests may not notice",
        "dtr": "no: many devices send nothing without",
        "block_bytes": "no: how many samples come at once",
        "read_timeout_ms": "no: when a silent device counts as lost",
        "nominal_rate": "no: when samples count as too slow or too fast, which takes no credit",
    },
    "quantis-emulator": {
        **_QUANTIS,
        "serial": "no: a name",
        "rate": "no: how fast samples come",
        "seed": "yes: what the samples are",
        "recording": "yes: what the samples are",
        "tape": "no: a copy of the samples",
        "control": "yes: faults in force",
    },
    "mock": {
        "seed": "yes: what the samples are",
        "rate": "no: how fast samples come",
        "block_bytes": "no: how many samples come at once",
    },
    "replay": {
        "path": "yes: what the samples are",
        "rate": "no: how fast samples come",
    },
}

HEAD = """\
# Switches

<!-- made by docs/make_switches.py: change the schema or that file, never this one -->

Every key of the configuration, and whether it can change an outcome. *Yes* means: with another
value decks come out otherwise, because another source, other samples or another text enter a draw.
It never means that anybody can choose or foresee which: in production every seed takes at least
320 credited bits of hardware, whatever stands here. No key names a deck, a card, a seed or a
position, and an unknown key is an error. That a draw comes a moment later, and so gets later
samples, does not make a *yes*.

The last column is what `production = false` allows and production refuses.
"""


def fields(table: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, FieldInfo]]:
    """Yield key path, attribute name and field of every key that a file can hold."""
    names = {field.alias or name: name for name, field in table.model_fields.items()}
    for key, field in known_keys(table).items():
        inner = table_of(field)
        if inner is None:
            yield prefix + key, names[key], field
        else:
            yield from fields(inner, f"{prefix}{key}.")


def type_text(name: str, field: FieldInfo) -> str:
    """Return what a value looks like in the file; the attribute's name carries its unit."""
    for ending, text in UNITS.items():
        if name.endswith(ending):
            return text
    # A list of texts is a list: the outermost type that has a word decides.
    for kind in types_of(field.annotation):
        if kind in WORDS:
            return WORDS[kind]
    sys.exit(f"make_switches: no word for the type of {name}: {field.annotation}")


def types_of(annotation: Any) -> Iterator[object]:
    """Yield the types in an annotation, the outer ones first."""
    yield typing.get_origin(annotation) or annotation
    for inner in typing.get_args(annotation):
        yield from types_of(inner)


def default_text(name: str, field: FieldInfo) -> str:
    """Return the default as it would be written in the file."""
    if field.is_required():
        return "none, required"
    value = field.get_default(call_default_factory=True)
    match value:
        case None:
            return "none"
        case int() if name.endswith("_ns"):
            value = units.duration_text(value)
        case int() if name.endswith("_bytes"):
            value = units.size_text(value)
        case TcpEndpoint():
            value = value.target
        case Path():
            value = str(value)
        case Mapping():
            return "`{}`"
    return f"`{json.dumps(value)}`"


def verdict(text: str) -> str:
    """Return a judgement for a cell, its first word in bold."""
    word, colon, rest = text.partition(":")
    if word not in {"yes", "no"}:
        sys.exit(f"make_switches: {text!r} begins with neither yes nor no")
    return f"**{word}**{colon}{rest}"


def row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def heading(table: str) -> str:
    """Return `[gate]` or `[[source]]`, as the file has it."""
    annotation = known_keys(Config)[table].annotation
    return f"[[{table}]]" if typing.get_origin(annotation) is tuple else f"[{table}]"


def refuse_gaps(of: str, judged: set[str], there: set[str]) -> None:
    """End unless each that is there was judged, and nothing else was."""
    if judged != there:
        sys.exit(
            f"make_switches: {of}: not judged: {sorted(there - judged)};"
            f" judged and not there: {sorted(judged - there)}"
        )


def keys_text() -> str:
    """Return the tables of the configuration, one a section."""
    found = list(fields(Config))
    refuse_gaps("OUTCOME", set(OUTCOME), {key for key, _, _ in found})
    refuse_gaps("DEVELOPMENT_ONLY", set(DEVELOPMENT_ONLY) - set(OUTCOME), set())
    text, section = "", ""
    for key, name, field in found:
        table, _, short = key.partition(".")
        if table != section:
            section = table
            text += f"\n## `{heading(table)}`\n\n"
            text += row(
                "key", "type", "default", "expected", "can it change an outcome?", "development"
            )
            text += row(*["---"] * 6)
        text += row(
            f"`{short}`",
            type_text(name, field),
            default_text(name, field),
            field.description or "",
            verdict(OUTCOME[key]),
            DEVELOPMENT_ONLY.get(key, ""),
        )
    return text


def options_text() -> str:
    """Return the options of the drivers that come with entropyd, one driver a section."""
    text = "\n## `options` of the drivers\n"
    # A driver that somebody else installed is not ours to judge.
    ours = {point.name: point.module for point in entry_points(group=DRIVER_ENTRY_POINTS)
            if point.module.startswith("entropyd_drivers.")}  # fmt: skip
    refuse_gaps("OPTIONS", set(OPTIONS), set(ours))
    for driver in OPTIONS:
        module = importlib.import_module(ours[driver])
        refuse_gaps(f"OPTIONS of {driver}", set(OPTIONS[driver]), set(module.KNOWN_OPTIONS))
        said = described(importlib.import_module(ours["quantis-usb"]).__doc__ or "")
        said |= described(module.__doc__ or "")
        text += f"\n`{driver}`\n\n" + row(
            "option", "meaning and range (default)", "can it change an outcome?"
        )
        text += row(*["---"] * 3)
        for option, judged in OPTIONS[driver].items():
            text += row(f"`{option}`", said[option], verdict(judged))
    return text


def described(docstring: str) -> dict[str, str]:
    """Return option -> text of the list under "Options" in a driver's docstring."""
    block = docstring.partition("\nOptions")[2].partition("\n\n")[0]
    return dict(re.findall(r"^ {4}([a-z_]+) +(.+)$", block, re.MULTILINE))


def main() -> None:
    """Write the document, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    text = HEAD + keys_text() + options_text()
    if parser.parse_args().check:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit("make_switches: docs/switches.md is out of date; run docs/make_switches.py")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
