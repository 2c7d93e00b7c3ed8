"""The check of a round of a seed pair, profile v1 or v2.

Spec: docs/protocol.md, "Outcome and round file".
"""

from hmac import compare_digest

from entropyd.errors import ProofMismatchError, RequestError
from entropyd.games.round_rules import RoundRules, decode_rules
from entropyd.games.rounds import play
from entropyd.games.seed_pair import SERVER_SEED_BYTES, Profile, check_client_seed, server_hash
from entropyd.verify import round_causes
from entropyd.verify.compare import first_difference, hex_difference, require_equal
from entropyd.verify.fields import Fields
from entropyd.verify.report import ALL_ROUNDS, COMPUTATIONAL, HASH_BEFORE, Kind, Report

SHA256_BYTES = 32
# Lists that are longer are counted, not told.
_TOLD_AT_MOST = 9

_V1_BINDS_NOTHING = (
    "which game was agreed on: profile v1 binds no rules, so the same round gives an outcome of"
    " every game"
)


def check_round(fields: Fields) -> Report:
    """Check that the outcome follows from the seeds, and the hash from the server seed.

    Args:
        fields: a round file.

    Raises:
        ProofMalformedError: the file has a form that no round has.
        ProofMismatchError: hash or outcome does not follow; names the first difference, and the
            usual cause where one explains it.
    """
    rules = _rules(fields)
    seed = fields.hex("server_seed", SERVER_SEED_BYTES)
    presented_hash = fields.hex("server_hash", SHA256_BYTES)
    client_seed, nonce = _client_seed(fields), fields.decimal("nonce")
    presented = fields.raw("outcome")
    fields.finish()
    _check_hash(rules, seed, presented_hash)
    computed = play(rules, seed, client_seed, nonce).outcome.as_json()
    if first_difference("outcome", computed, presented) is not None:
        causes = round_causes.of_outcome(rules, seed, client_seed, nonce, presented)
        require_equal("outcome", computed, presented, causes=causes)
    return _report(rules, client_seed, nonce, computed)


def _rules(fields: Fields) -> RoundRules:
    try:
        return decode_rules(fields.text("rules").encode("utf-8"))
    except RequestError as error:
        raise fields.refused(error, "rules") from error


def _client_seed(fields: Fields) -> str:
    client_seed = fields.text("client_seed")
    try:
        check_client_seed("client_seed", client_seed)
    except RequestError as error:
        raise fields.refused(error) from error
    return client_seed


def _check_hash(rules: RoundRules, seed: bytes, presented: bytes) -> None:
    computed = server_hash(rules.profile, seed)
    if not compare_digest(computed, presented):
        raise ProofMismatchError(
            hex_difference(computed, presented),
            field="server_hash",
            causes=round_causes.of_hash(rules.profile, seed, presented),
        )


def _report(rules: RoundRules, client_seed: str, nonce: int, outcome: dict[str, object]) -> Report:
    game = rules.machine or rules.game
    checked = (
        f"server_hash is that of server_seed, profile {rules.profile}",
        f"data is the file of {game} known here",
        f"every draw of {game} from server seed, client seed and nonce",
        "the outcome, member by member",
    )
    not_checked = [HASH_BEFORE, ALL_ROUNDS, COMPUTATIONAL]
    if rules.profile is Profile.V1:
        not_checked.append(_V1_BINDS_NOTHING)
    return Report(
        kind=Kind.ROUND,
        subject=f"{game}, nonce {nonce}, client seed {client_seed}",
        result=", ".join(f"{name} {_told(value)}" for name, value in outcome.items()),
        checked=checked,
        not_checked=tuple(not_checked),
    )


def _told(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    if len(value) > _TOLD_AT_MOST or any(isinstance(one, list) for one in value):
        return f"({len(value)})"
    return " ".join(map(str, value))
