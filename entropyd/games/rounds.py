"""One round: from its rules, seeds and nonce to what came out, and how.

Spec: docs/protocol.md, "Games".
"""

from dataclasses import dataclass

from entropyd.draw.keystream import BitSource
from entropyd.errors import InternalError
from entropyd.games import blackjack, cascade, dice_poker, mines, roulette, slots
from entropyd.games.blackjack import BlackjackOutcome
from entropyd.games.cascade import CascadeMachine, CascadeOutcome
from entropyd.games.dice_poker import DicePokerOutcome
from entropyd.games.mines import MinesOutcome
from entropyd.games.roulette import RouletteOutcome
from entropyd.games.round_draws import Below, Draws, DrawTrace
from entropyd.games.round_rules import RoundRules
from entropyd.games.seed_pair import Block, Profile, RoundStream, block_v1, block_v2
from entropyd.games.slots import ReelMachine, ReelOutcome
from entropyd.games.tables import Game
from entropyd.hands.rules import rules_hash

Outcome = (
    BlackjackOutcome
    | CascadeOutcome
    | DicePokerOutcome
    | MinesOutcome
    | ReelOutcome
    | RouletteOutcome
)


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """What a round came to.

    Attributes:
        outcome: the result.
        trace: every draw with the words it read, for people.
    """

    outcome: Outcome
    trace: tuple[DrawTrace, ...]


def play(rules: RoundRules, server_seed: bytes, client_seed: str, nonce: int) -> PlayedRound:
    """Return the round that the four decide.

    Args:
        rules: of the round; v2 binds them.
        server_seed: 32 bytes. Secret until revealed.
        client_seed: 1 to 64 characters.
        nonce: 0 to 2^64 - 1.

    Raises:
        RequestError: client seed or nonce cannot stand; names `client_seed` or `nonce`.
        InternalError: the seed is not 32 bytes; or a draw was rejected 128 times and the round
            is void.
    """
    stream = RoundStream(block_of_round(rules, server_seed, client_seed, nonce))
    return play_words(rules, stream)


def block_of_round(rules: RoundRules, server_seed: bytes, client_seed: str, nonce: int) -> Block:
    """Return the function c -> block c of a round, for who wants to see the bytes.

    Raises:
        As `play`.
    """
    if rules.profile is Profile.V1:
        return block_v1(server_seed, client_seed, nonce)
    return block_v2(server_seed, client_seed, nonce, rules_hash(rules.encode()))


def play_words(rules: RoundRules, source: BitSource) -> PlayedRound:
    """Return the round that a source of 32-bit words decides.

    Raises:
        InternalError: a draw was rejected 128 times and the round is void.
    """
    draws = Draws(source)
    return PlayedRound(_outcome(rules, draws.below), draws.trace)


def _outcome(rules: RoundRules, below: Below) -> Outcome:
    made = rules.table.made
    if isinstance(made, CascadeMachine):
        return cascade.fall(below, made)
    if isinstance(made, ReelMachine):
        return slots.spin(below, made)
    if rules.mines is not None:
        return mines.lay(below, rules.mines)
    return _without_settings(rules.game, below)


def _without_settings(game: Game, below: Below) -> Outcome:
    match game:
        case Game.ROULETTE:
            return roulette.spin(below)
        case Game.DICE_POKER:
            return dice_poker.roll(below)
        case Game.BLACKJACK:
            return blackjack.shuffle_shoe(below)
    raise InternalError(f"a round of {game} without its settings")
