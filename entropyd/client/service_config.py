"""The service config that every client should use: what may be retried, and how often.

Published as JSON in docs/service-config.json for other languages; a test holds
the two together.

Only UNAVAILABLE is retried: it means that nothing was spent, or that asking
again with the same claim gets the recorded deck. No hedging: C-core does not
have it, and a second copy of a call that waits for entropy helps nobody. Five
attempts are C-core's own ceiling.

No timeout either: a call sets its own, and the daemon refuses one that has
none. C-core would cut the call's own short by up to a second without telling
the server (grpc/grpc#34547, #40633), so that a hold ends as DEADLINE_EXCEEDED,
which nobody may retry.

Spec: DESIGN 12; gRPC A6.
"""

import json

# A hold is answered 50 ms before the deadline and tells when to come back; 10 s is two holds of
# `max_hold` (5 s by default).
DEFAULT_TIMEOUT_S = 10
# A batch waits for the entropy of all its hands, which at a device's pace takes a second.
BATCH_TIMEOUT_S = 30


def _method_config(service: str) -> dict[str, object]:
    return {
        "name": [{"service": service}],
        "retryPolicy": {
            "maxAttempts": 5,
            "initialBackoff": "0.05s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }


SERVICE_CONFIG: dict[str, object] = {
    "methodConfig": [
        _method_config("entropyd.v1.ShuffleService"),
        _method_config("entropyd.v1.EntropyService"),
        _method_config("entropyd.v1.DrawService"),
        _method_config("entropyd.v1.RaffleService"),
        _method_config("entropyd.v1.FairService"),
        _method_config("entropyd.v1.HandService"),
        _method_config("entropyd.v1.LedgerService"),
    ],
    # Half of the calls failing stops retries altogether: a client never doubles a storm.
    "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.5},
}

SERVICE_CONFIG_JSON = json.dumps(SERVICE_CONFIG, indent=2) + "\n"

CHANNEL_OPTIONS: tuple[tuple[str, str | int], ...] = (
    ("grpc.service_config", SERVICE_CONFIG_JSON),
    ("grpc.enable_retries", 1),
    # A dead connection is noticed within 40 s, also between hands; the daemon allows a ping
    # every 10 s.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
