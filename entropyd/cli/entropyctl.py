"""`entropyctl`: asks a running daemon, as any other client would.

Exit codes: 0 answered, 1 refused (the text says why and what to do), 2 wrong
usage (also of a file or an id), 3 not reached.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import grpc
import typer
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console
from rich.markup import escape

from entropyd.cli import credentials, hand, keys, log, outcomes, selftest, verify
from entropyd.cli.cards import render_deal
from entropyd.cli.options import (
    DEFAULT_CLAIM_KEY,
    DEFAULT_TARGET,
    EXIT_NOT_REACHED,
    EXIT_REFUSED,
    EXIT_USAGE,
    AsJson,
    ClaimKeyFile,
    Target,
    Timeout,
    connect,
    make_room_for,
)
from entropyd.cli.output import can_be_written
from entropyd.cli.people.commands import add_commands
from entropyd.client import Deal, Refusal
from entropyd.errors import ConfigError, RequestError
from entropyd.v1 import entropy_service_pb2, types_pb2

_NOT_REACHED = (
    "no daemon answered there: does it run (systemctl status entropyd), is --target or"
    " ENTROPYCTL_TARGET where it listens, and may you use that socket?"
)
# What a refusal means in the words of the command line, by its field.
_REMEDIES = {"large": "here that is --large wait or --large computational"}

# Typer's own tracebacks show local variables: the claim key is one.
app = typer.Typer(
    no_args_is_help=True, add_completion=True, help=__doc__, pretty_exceptions_enable=False
)

app.callback(help=__doc__)(credentials.remember)

selftest.add_command(app)
hand.add_command(app)
verify.add_command(app)
app.add_typer(log.app, name="log")
app.add_typer(keys.app, name="keys")
add_commands(app)


@app.command()
def status(
    target: Target = DEFAULT_TARGET,
    as_json: AsJson = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Say it again whenever it changes, until interrupted.")
    ] = False,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Say whether the daemon can deal, why not, and how every source stands."""
    with connect(target, claim_key_file) as client:
        answers = client.watch_status() if watch else iter([client.status(timeout_s=timeout)])
        for answer in answers:
            if as_json:
                _print_json(_as_dict(answer))
            else:
                _print_status(answer)


@app.command()
def shuffle(
    table: Annotated[
        str | None, typer.Argument(help="The table's id; with --count lab/RUN if there is none.")
    ] = None,
    hand: Annotated[
        str | None, typer.Argument(help="The hand's id; the same id gets the same deck.")
    ] = None,
    target: Target = DEFAULT_TARGET,
    as_json: AsJson = False,
    deck: Annotated[str, typer.Option(help="standard52, standard54 or short36.")] = "standard52",
    decks: Annotated[int, typer.Option(help="How many decks are in the shoe, 1 to 8.")] = 1,
    count: Annotated[
        int | None,
        typer.Option(min=1, max=outcomes.MAX_COUNT, help="Deal so many hands, for a laboratory."),
    ] = None,
    form: Annotated[
        outcomes.Format,
        typer.Option("--format", help="With --count: csv, or bin: one byte a card, nothing else."),
    ] = outcomes.Format.CSV,
    out: Annotated[
        Path | None, typer.Option(help="With --count: a file that is not there yet.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="With --count: go on with the run that has this name.")
    ] = None,
    in_flight: Annotated[
        int,
        typer.Option(
            min=1,
            max=outcomes.MAX_IN_FLIGHT,
            help="With --count: calls at once; 1 draws in the order of the output.",
        ),
    ] = outcomes.IN_FLIGHT,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait, in all; with --count, for the next deck.")
    ] = 10.0,
) -> None:
    """Deal a whole deck, or show it again as it was dealt; with --count a run of them."""
    if count is not None:
        if hand is not None or as_json:
            raise typer.BadParameter("--count takes neither a hand nor --json")
        name = run or outcomes.new_run_name()
        asked = outcomes.Run(
            name, table or f"lab/{name}", count, deck, decks, in_flight, timeout_s=timeout
        )
        make_room_for(claim_key_file)
        outcomes.write_outcomes(target, claim_key_file, asked, form, out)
        return
    if table is None or hand is None:
        raise typer.BadParameter(f"Missing argument {'HAND' if table else 'TABLE'}")
    with connect(target, claim_key_file) as client:
        deal = client.shuffle(table, hand, deck=deck, decks=decks, timeout_s=timeout)
    if as_json:
        _print_json(_deal_as_dict(deal))
        return
    Console().print(render_deal(deal))


@app.command("add-entropy")
def add_entropy(
    user: Annotated[str, typer.Argument(help="Whose: an id of your choosing.")],
    file: Annotated[
        Path, typer.Argument(help="File of at most 1,024 bytes; - reads standard input.")
    ] = Path("-"),
    target: Target = DEFAULT_TARGET,
    as_json: AsJson = False,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Forward what one user gave; it is mixed into the tenant's next draws."""
    blob = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    with connect(target, claim_key_file) as client:
        answer = client.add_user_entropy(user, blob=blob, timeout_s=timeout)
    if as_json:
        _print_json(_as_dict(answer))
        return
    Console().print(
        f"taken, estimated at {_bits(answer.estimated_millibits)} bits;"
        f" the tenant's users have {_bits(answer.pooled_millibits)} bits waiting"
    )


def _as_dict(message: Message) -> dict[str, object]:
    """Return a message as JSON with every field: a program must not take "no" for "not said"."""
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _deal_as_dict(deal: Deal) -> dict[str, object]:
    """Return the stored message as JSON, with the cards as people and programs read them."""
    answer = _as_dict(deal.message)
    answer["cards"] = list(deal.card_ids)
    answer["text"] = " ".join(deal.cards)
    for name in ("commitment", "deck_root", "open_hash", "items"):
        answer[name] = getattr(deal.message, name).hex()
    answer["replayed"] = deal.replayed
    return answer


def _print_status(answer: entropy_service_pb2.GetStatusResponse) -> None:
    console = Console()
    if answer.can_deal:
        console.print(f"[bold green]can deal[/]  {escape(answer.node)}  {escape(answer.policy)}")
    else:
        console.print(
            f"[bold red]holding[/] for {answer.held_for.seconds} s: {answer.hold_reason}:"
            f" {escape(answer.hold_text)}"
        )
    if answer.mock:
        console.print("[yellow]a source is an emulator or a recording: do not deal money on it[/]")
    console.print(
        f"{answer.hands} hands recorded, {answer.waiters} callers waiting, users have"
        f" {_bits(answer.user_pooled_millibits)} bits waiting, version {answer.version}"
    )
    for source in answer.sources:
        _print_source(console, source)


def _print_source(console: Console, source: entropy_service_pb2.SourceStatus) -> None:
    state = types_pb2.SourceState.Name(source.state).removeprefix("SOURCE_STATE_").lower()
    style = "green" if source.state == types_pb2.SOURCE_STATE_HEALTHY else "red"
    serial = f" serial {escape(source.serial)}" if source.serial else ""
    console.print(
        f"[bold]{escape(source.source)}[/] [{style}]{state}[/]  {escape(source.driver)}{serial},"
        f" {'required' if source.required else 'not required'}"
    )
    console.print(
        f"  {source.claimed_millibits / 1000:.2f} bits a sample claimed,"
        f" {source.assessed_millibits / 1000:.2f} assessed; {_bits(source.reservoir_millibits)}"
        f" bits waiting; {source.alarms} alarms, {source.reopens} reopens"
    )
    if source.detail:
        console.print(f"  last fault: {escape(source.detail)}")


def _bits(millibits: int) -> str:
    return f"{millibits // 1000:,}"


def _print_json(answer: object) -> None:
    print(json.dumps(answer, indent=2), flush=True)


def main() -> None:
    """Run a command; say plainly what was refused."""
    if not can_be_written():
        print("entropyctl: standard output is closed; nothing was asked", file=sys.stderr)
        sys.exit(EXIT_USAGE)
    try:
        app()
    except Refusal as refusal:
        print(f"entropyctl: {refusal}", file=sys.stderr)
        if refusal.retry_after_s is not None:
            print(f"entropyctl: ask again in {refusal.retry_after_s:.1f} s", file=sys.stderr)
        reached = refusal.reason or refusal.code is not grpc.StatusCode.UNAVAILABLE
        if remedy := _REMEDIES.get(refusal.field) if reached else _NOT_REACHED:
            print(f"entropyctl: {remedy}", file=sys.stderr)
        sys.exit(EXIT_REFUSED if reached else EXIT_NOT_REACHED)
    except (ConfigError, RequestError, OSError, ValueError) as error:
        # A file (claim key, certificate, token, user entropy), or an id that no daemon would take.
        print(f"entropyctl: {error}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


if __name__ == "__main__":
    main()
