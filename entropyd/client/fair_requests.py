"""What the clients send to FairService."""

from entropyd.v1 import fair_service_pb2 as messages


def open_pair(player: str, profile: str | None) -> messages.OpenPairRequest:
    """Return a request for a player's line."""
    return messages.OpenPairRequest(
        player=player,
        profile=messages.Profile.Value(f"PROFILE_{(profile or 'unspecified').upper()}"),
    )


def set_client_seed(
    player: str, client_seed: str, server_hash: bytes
) -> messages.SetClientSeedRequest:
    """Return a request that sets a client seed."""
    return messages.SetClientSeedRequest(
        player=player, server_hash=server_hash, client_seed=client_seed
    )


def play_round(
    player: str,
    round_id: str,
    game: str,
    *,
    machine: str | None,
    mines: int,
    expected_nonce: int | None,
) -> messages.PlayRoundRequest:
    """Return a request for a round."""
    return messages.PlayRoundRequest(
        key=messages.RoundKey(player=player, round=round_id),
        game=messages.Game.Value(f"GAME_{game.upper()}"),
        machine=messages.Machine.Value(f"MACHINE_{(machine or 'unspecified').upper()}"),
        mines=mines,
        expected_nonce=expected_nonce,
    )


def close_round(player: str, round_id: str) -> messages.CloseRoundRequest:
    """Return a request that ends a round."""
    return messages.CloseRoundRequest(key=messages.RoundKey(player=player, round=round_id))


def void_round(player: str, round_id: str, reason: str) -> messages.VoidRoundRequest:
    """Return a request that ends a round which shall not count."""
    key = messages.RoundKey(player=player, round=round_id)
    return messages.VoidRoundRequest(key=key, reason=reason)


def rotate_pair(player: str, pair: int) -> messages.RotatePairRequest:
    """Return a request that reveals a pair."""
    return messages.RotatePairRequest(player=player, pair=pair)


def get_pair(player: str) -> messages.GetPairRequest:
    """Return a request to read a line."""
    return messages.GetPairRequest(player=player)


def get_round(player: str, round_id: str) -> messages.GetRoundRequest:
    """Return a request to read a round."""
    return messages.GetRoundRequest(key=messages.RoundKey(player=player, round=round_id))


def list_rounds(player: str, pair: int, page_token: str) -> messages.ListRoundsRequest:
    """Return a request for a page of rounds."""
    return messages.ListRoundsRequest(player=player, pair=pair, page_token=page_token)


def list_pairs(player: str, page_token: str) -> messages.ListPairsRequest:
    """Return a request for a page of one player's pairs."""
    return messages.ListPairsRequest(player=player, page_token=page_token)


def present_pairs(page_token: str, *, overdue_only: bool) -> messages.ListPairsRequest:
    """Return a request for a page of all players' present pairs."""
    return messages.ListPairsRequest(page_token=page_token, overdue_only=overdue_only)
