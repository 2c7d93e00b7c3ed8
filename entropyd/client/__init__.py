"""The typed client: `Client` for threads, `AsyncClient` for asyncio.

from entropyd.client import Client

with Client("unix:/run/entropyd/poker.sock", claim_key_file="claim.key") as dealer:
    deal = dealer.shuffle("table-7", "hand-1")
    print(deal.cards[:2])
    for answer in dealer.stream_shuffles(("table-7", f"hand-{number}") for number in range(1000)):
        print(answer.hand, answer.result().cards[:2])
"""

from entropyd.client.aio_client import AsyncClient
from entropyd.client.aio_draws import AsyncDraws, AsyncRaffles
from entropyd.client.aio_fair import AsyncFair
from entropyd.client.aio_hands import AsyncHands
from entropyd.client.aio_log import AsyncLog
from entropyd.client.claims import ClaimKey
from entropyd.client.client import Client
from entropyd.client.connection import Tls
from entropyd.client.deal import Deal, HandAnswer, Refusal, SourceUse
from entropyd.client.dealt import Closed, Contributed, Dealt, DealtCard, Hand, Revealed, SeatOutcome
from entropyd.client.draw_requests import Large, SamplerName
from entropyd.client.drawn import Drawn, Match, OpenedRaffle, Opening, Raffle, ReplayedDraw
from entropyd.client.draws import Draws, Raffles
from entropyd.client.fair import Fair
from entropyd.client.hand_requests import Contributions, HandAsk, SeatContribution
from entropyd.client.hands import Hands
from entropyd.client.log import Consistency, Inclusion, Log, LogHead, SignedReceipt
from entropyd.client.rounds import OpenedRound, Pair, RevealedPair, Round
from entropyd.client.service_config import CHANNEL_OPTIONS, SERVICE_CONFIG, SERVICE_CONFIG_JSON
from entropyd.hands.card_proof import CardProof

__all__ = [
    "CHANNEL_OPTIONS",
    "SERVICE_CONFIG",
    "SERVICE_CONFIG_JSON",
    "AsyncClient",
    "AsyncDraws",
    "AsyncFair",
    "AsyncHands",
    "AsyncLog",
    "AsyncRaffles",
    "CardProof",
    "ClaimKey",
    "Client",
    "Closed",
    "Consistency",
    "Contributed",
    "Contributions",
    "Deal",
    "Dealt",
    "DealtCard",
    "Drawn",
    "Draws",
    "Fair",
    "Hand",
    "HandAnswer",
    "HandAsk",
    "Hands",
    "Inclusion",
    "Large",
    "Log",
    "LogHead",
    "Match",
    "OpenedRaffle",
    "OpenedRound",
    "Opening",
    "Pair",
    "Raffle",
    "Raffles",
    "Refusal",
    "ReplayedDraw",
    "Revealed",
    "RevealedPair",
    "Round",
    "SamplerName",
    "SeatContribution",
    "SeatOutcome",
    "SignedReceipt",
    "SourceUse",
    "Tls",
]
