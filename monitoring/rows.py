"""The rows of the dashboard: what is asked of Prometheus, and how it is shown."""

from collections.abc import Sequence

from monitoring.panels import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    YELLOW,
    Panel,
    Place,
    Query,
    above,
    graph,
    number,
    timeline,
    value,
)

# Every series of the daemons that are looked at.
SERIES = 'job="entropyd",instance=~"$instance"'
# The loop turns ten times a second; /healthz gives up after as many seconds.
LOOP_STALLED_S = 5
# From here on an alert waits to fire: EntropydLogProofOverdue, EntropydHandsOverdue.
LOG_OVERDUE_S = 5
WINDOWS_LATE_S = 5
# Nothing that a clock says is this old: a time that was never set is Unix time 0.
NEVER_S = 1e9

# An instance that Prometheus knows and cannot reach counts as one that cannot deal. One that
# it does not know leaves no data, which is red as well.
CAN_DEAL = (
    "max by (job, instance)"
    f" (entropyd_can_deal{{{SERIES}}} or on (job, instance) 0 * up{{{SERIES}}})"
)

_LOOP_AGE = f"(time() - entropyd_loop_heartbeat_timestamp_seconds{{{SERIES}}})"


def _because(why: str, condition: str) -> str:
    return f'label_replace({condition}, "why", "{why}", "", "")'


# The first that applies: 1 and the reason, or 2 if dealing is possible.
WHY_NOT = " or on (job, instance) ".join(
    (
        _because("DAEMON NOT REACHED", f"1 + (up{{{SERIES}}} == 0)"),
        _because("EVENT LOOP STALLED", f"1 + 0 * ({_LOOP_AGE} > {LOOP_STALLED_S})"),
        _because("nothing: dealing", f"2 * (entropyd_can_deal{{{SERIES}}} == 1)"),
        f"(entropyd_gate_held{{{SERIES}}} == 1)",
        _because("STARTING OR STOPPING", f"1 + (entropyd_can_deal{{{SERIES}}} == 0)"),
    )
)

# The states of a source as numbers, the worst lowest.
STATES = (
    (1, "failed", "FAILED: waits for an operator", RED),
    (2, "lost", "LOST", RED),
    (3, "startup", "start-up test", YELLOW),
    (4, "assessing", "assessing", YELLOW),
    (5, "healthy", "healthy", GREEN),
)
SOURCE_STATE = "sum by (instance, source) ({})".format(
    " or ".join(
        f'{code} * entropyd_source_state{{{SERIES},state="{state}"}}'
        for code, state, _, _ in STATES
    )
)


def dealing() -> Sequence[Panel]:
    """Return the row for whoever was woken up."""
    return (
        number(
            "Can we deal?",
            "Whether a draw asked for now would be dealt, as /readyz says. An instance that cannot"
            " be reached counts as one that cannot deal.",
            Place(0, 1, 6, 6),
            [Query(CAN_DEAL, "{{instance}}")],
            steps=[(1, GREEN)],
            texts=[value("DEALING", 1, GREEN), value("NOT DEALING", 0, RED)],
        ),
        number(
            "Why not?",
            "What dealing waits for. Remedies stand under EntropydHold in docs/operations.md;"
            " `entropyctl status` on the machine says more.",
            Place(6, 1, 9, 6),
            [Query(WHY_NOT, "{{why}}")],
            steps=[(2, GREEN)],
            names=True,
        ),
        number(
            "Held for",
            "How long dealing has been impossible. Callers come back after 5 s at most.",
            Place(15, 1, 4, 6),
            [Query(f"entropyd_hold_seconds{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, ORANGE), (10, RED)],
            unit="s",
        ),
        number(
            "Fit for money?",
            "Red: a source is an emulator, a mock or a recording, or the daemon runs in development"
            " mode. Decks are marked as mock, and must not be played with.",
            Place(19, 1, 5, 3),
            [
                Query(
                    f"entropyd_production{{{SERIES}}} > bool entropyd_simulated{{{SERIES}}}",
                    "{{instance}}",
                )
            ],
            steps=[(1, GREEN)],
            texts=[value("yes", 1, GREEN), value("NO: SIMULATED", 0, RED)],
        ),
        number(
            "Complete?",
            "Degraded: draws are answered with less than what is configured, because a source that"
            " is not required is missing, or user entropy is waived. Receipts say so.",
            Place(19, 4, 5, 3),
            [Query(f"entropyd_degraded{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, ORANGE)],
            texts=[value("yes", 0, GREEN), value("DEGRADED", 1, ORANGE)],
        ),
        timeline(
            "Dealing, and what it waited for",
            "Green: dealing. Red: not. A further bar for each reason that there was.",
            Place(0, 7, 24, 5),
            [
                Query(CAN_DEAL, "{{instance}}"),
                Query(f"2 * (entropyd_gate_held{{{SERIES}}} == 1)", "{{instance}} {{why}}"),
            ],
            texts=[
                value("dealing", 1, GREEN),
                value("not dealing", 0, RED),
                value("waited for", 2, ORANGE),
            ],
        ),
    )


def sources() -> Sequence[Panel]:
    """Return the row of the devices."""
    age = f"time() - entropyd_source_last_good_timestamp_seconds{{{SERIES}}}"
    return (
        timeline(
            "State of each source",
            "FAILED stays until an operator runs `entropyd reset-source`. LOST is looked for every"
            " few seconds, and comes back by itself.",
            Place(0, 1, 16, 6),
            [Query(SOURCE_STATE, "{{instance}} {{source}}")],
            texts=[
                value("unknown", 0, RED),
                *(value(text, code, colour) for code, _, text, colour in STATES),
            ],
        ),
        number(
            "Last samples",
            "How long ago a source last delivered. More than some seconds: the device is silent,"
            " whatever its state says.",
            Place(16, 1, 8, 6),
            [Query(f"clamp_min({age}, 0)", "{{instance}} {{source}}")],
            steps=[(0, GREEN), (2, ORANGE), (10, RED)],
            texts=[above("NEVER", NEVER_S, RED)],
            unit="s",
        ),
        graph(
            "Samples",
            "Raw samples a second. A steady device draws a level line; a fall is a device that"
            " fails, or a hub that is shared.",
            Place(0, 7, 8, 7),
            [
                Query(
                    f"rate(entropyd_source_samples_total{{{SERIES}}}[$__rate_interval])",
                    "{{instance}} {{source}}",
                )
            ],
            unit="cps",
        ),
        graph(
            "Min-entropy of a sample",
            "Bits: the claim of the configuration, and what was assessed. Below the claim the"
            " credit falls with it. 0: not assessed yet.",
            Place(8, 7, 8, 7),
            [
                Query(
                    f"entropyd_source_assessed_min_entropy_bits{{{SERIES}}}",
                    "{{instance}} {{source}} assessed",
                ),
                Query(
                    f"entropyd_source_claimed_min_entropy_bits{{{SERIES}}}",
                    "{{instance}} {{source}} claimed",
                ),
            ],
        ),
        graph(
            "Alarms and faults",
            "Health alarms, failed opens and reads, readers replaced. All of them are 0 on a good"
            " day.",
            Place(16, 7, 8, 7),
            [
                Query(
                    "sum by (instance, source)"
                    f" (increase(entropyd_health_alarms_total{{{SERIES}}}[$__rate_interval]))",
                    "{{source}} health alarms",
                ),
                Query(
                    "sum by (instance, source)"
                    f" (increase(entropyd_source_read_errors_total{{{SERIES}}}[$__rate_interval]))",
                    "{{source}} failed reads",
                ),
                Query(
                    f"increase(entropyd_reader_restarts_total{{{SERIES}}}[$__rate_interval])",
                    "{{source}} reader replaced",
                ),
            ],
        ),
    )


def levels() -> Sequence[Panel]:
    """Return the row of what is in stock, what comes in and what goes out."""
    seed = f"entropyd_seed_cost_bits{{{SERIES}}}"
    return (
        graph(
            "Seeds ready",
            "What waits in the reservoir, in seeds; a 52-card deck takes one. Near 0 under load the"
            " device is the limit; near 0 without load it does not deliver.",
            Place(0, 1, 8, 7),
            [
                Query(
                    f"sum by (job, instance) (entropyd_reservoir_bits{{{SERIES}}})"
                    f" / on (job, instance) {seed}",
                    "{{instance}}",
                )
            ],
        ),
        graph(
            "Fill and use",
            "Seeds a second that the sources could pay for, and that draws took. The room between"
            " the lines is what is left for a burst.",
            Place(8, 1, 8, 7),
            [
                Query(
                    "sum by (job, instance)"
                    f" (rate(entropyd_source_credited_bits_total{{{SERIES}}}[$__rate_interval]))"
                    f" / on (job, instance) {seed}",
                    "{{instance}} filled",
                ),
                Query(
                    f"rate(entropyd_drbg_reseeds_total{{{SERIES}}}[$__rate_interval])",
                    "{{instance}} used",
                ),
            ],
            unit="cps",
        ),
        graph(
            "User entropy",
            "Estimated bits in the pool of each tenant, capped for each user. What is missing is"
            " covered by hardware, unless the configuration says that draws wait.",
            Place(16, 1, 8, 7),
            [Query(f"entropyd_user_pool_bits{{{SERIES}}}", "{{instance}} {{tenant}}")],
        ),
    )


def waits() -> Sequence[Panel]:
    """Return the row of those who want a deck."""
    return (
        graph(
            "Wait of a draw",
            "From the request to the record, or to the end of a wait without one. Nothing to see"
            " where nothing was drawn.",
            Place(0, 1, 8, 7),
            [
                _percentile("draw_wait", quantile, name)
                for quantile, name in ((0.5, "half"), (0.99, "99 %"), (0.999, "99.9 %"))
            ],
            unit="s",
            limit=1.0,
        ),
        graph(
            "Draws that wait",
            "Callers in the queue now. It is bounded: see `gate.max_waiters`.",
            Place(8, 1, 8, 7),
            [Query(f"entropyd_waiters{{{SERIES}}}", "{{instance}}")],
        ),
        graph(
            "How draws end",
            "A second. Held: sent away at the end of a wait. Overloaded: the queue was full."
            " Unrecorded: the ledger could not record.",
            Place(16, 1, 8, 7),
            [
                Query(
                    f'sum by (outcome) (rate(entropyd_draws_total{{{SERIES},outcome!="other"}}'
                    "[$__rate_interval]))",
                    "{{outcome}}",
                )
            ],
            unit="cps",
            stacked=True,
            colours={
                "recorded": GREEN,
                "replayed": BLUE,
                "held": ORANGE,
                "overloaded": RED,
                "unrecorded": PURPLE,
            },
        ),
    )


def ledger() -> Sequence[Panel]:
    """Return the row of what is recorded."""
    last = f"time() - entropyd_ledger_last_success_timestamp_seconds{{{SERIES}}}"
    return (
        number(
            "Commit running for",
            "How long the commit that runs has been running: milliseconds, or the disk hangs.",
            Place(0, 1, 4, 4),
            [Query(f"entropyd_ledger_stalled_seconds{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, ORANGE), (5, RED)],
            unit="s",
        ),
        number(
            "Last commit",
            "How long ago something was last recorded. Old is right where nobody plays.",
            Place(4, 1, 4, 4),
            [Query(f"clamp_min({last}, 0)", "{{instance}}")],
            steps=[(0, BLUE)],
            texts=[above("NEVER", NEVER_S, ORANGE)],
            unit="s",
        ),
        number(
            "Hands recorded",
            "In this ledger, ever. It never falls: a smaller number is another ledger.",
            Place(0, 5, 8, 3),
            [Query(f"entropyd_ledger_hands{{{SERIES}}}", "{{instance}}")],
            steps=[(0, BLUE)],
            unit="none",
        ),
        graph(
            "Commits",
            "A second: commits, hands in them, and commits that the store did not confirm. Any of"
            " the last is an alarm.",
            Place(8, 1, 5, 7),
            [
                Query(f"rate(entropyd_ledger_{name}_total{{{SERIES}}}[$__rate_interval])", text)
                for name, text in (
                    ("commits", "{{instance}} commits"),
                    ("rows", "{{instance}} hands"),
                    ("failures", "{{instance}} failed"),
                )
            ],
            unit="cps",
            colours={"commits": BLUE, "hands": GREEN, "failed": RED},
        ),
        graph(
            "Time of a commit",
            "With its sync. It bounds how fast one hand can be dealt, and says how the disk does.",
            Place(13, 1, 5, 7),
            [
                _percentile("ledger_commit", quantile, name)
                for quantile, name in ((0.5, "half"), (0.99, "99 %"))
            ],
            unit="s",
        ),
        graph(
            "Room for the ledger",
            "Free bytes, and the limit below which draws are refused. A hand takes about 1.3 KB.",
            Place(18, 1, 6, 7),
            [
                Query(f"entropyd_ledger_free_bytes{{{SERIES}}}", "{{instance}} free"),
                Query(f"entropyd_ledger_min_free_bytes{{{SERIES}}}", "{{instance}} limit"),
            ],
            unit="bytes",
        ),
        number(
            "Log not signed for",
            "For how long there may have been receipts that no checkpoint covers. The daemon signs"
            " twice a second.",
            Place(0, 8, 8, 4),
            [Query(f"entropyd_log_unsigned_age_seconds{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (2, ORANGE), (LOG_OVERDUE_S, RED)],
            unit="s",
        ),
        graph(
            "Receipts",
            "In the log, and under the newest signed checkpoint.",
            Place(8, 8, 16, 4),
            [
                Query(f"entropyd_log_size{{{SERIES}}}", "{{instance}} logged"),
                Query(f"entropyd_log_signed_size{{{SERIES}}}", "{{instance}} signed"),
            ],
            unit="none",
        ),
    )


def games() -> Sequence[Panel]:
    """Return the row of what is drawn that is no hand."""
    return (
        number(
            "Overdue pairs",
            "Seed pairs that should have been revealed by now, at the daemon's last look. A hold"
            " delays them; without one it is a defect.",
            Place(0, 1, 4, 4),
            [Query(f"entropyd_fair_pairs_overdue{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, ORANGE)],
            unit="none",
        ),
        number(
            "Revealed by the daemon",
            "Pairs since its start that nobody rotated in time: open rounds of theirs were voided.",
            Place(0, 5, 4, 3),
            [Query(f"entropyd_fair_pairs_expired_total{{{SERIES}}}", "{{instance}}")],
            steps=[(0, BLUE)],
            unit="none",
        ),
        graph(
            "Draws by kind",
            "A second, in matches and of raffles. Decks are under Hands recorded; replays are not"
            " counted.",
            Place(4, 1, 10, 7),
            [
                Query(
                    "sum by (kind) (rate(entropyd_draws_by_kind_total"
                    f'{{{SERIES},kind!~"other|server_seed"}}[$__rate_interval]))',
                    "{{kind}}",
                )
            ],
            unit="cps",
            stacked=True,
        ),
        graph(
            "Rounds by game",
            "A second. Replays are not counted.",
            Place(14, 1, 10, 7),
            [
                Query(
                    f'sum by (game) (rate(entropyd_rounds_total{{{SERIES},game!="other"}}'
                    "[$__rate_interval]))",
                    "{{game}}",
                )
            ],
            unit="cps",
            stacked=True,
        ),
    )


def hands() -> Sequence[Panel]:
    """Return the row of hands of which each card is dealt by a call of its own."""
    return (
        number(
            "Place alarms",
            "Calls since the start for a place that was dealt with another claim or to others. Not"
            " 0: somebody may deal with a stolen credential; see EntropydPlaceDealt.",
            Place(0, 1, 4, 4),
            [Query(f"entropyd_hand_place_alarms_total{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, RED)],
            unit="none",
        ),
        number(
            "Windows late by",
            "For how long the oldest window or expiry has been over that is not recorded. The"
            " daemon looks ten times a second.",
            Place(4, 1, 4, 4),
            [Query(f"entropyd_hands_overdue_seconds{{{SERIES}}}", "{{instance}}")],
            steps=[(0, GREEN), (1, ORANGE), (WINDOWS_LATE_S, RED)],
            unit="s",
        ),
        number(
            "Hands that go on",
            "Opened, and neither closed nor void. One that only grows: a game server does not close"
            " what it opens, and hands end by their age.",
            Place(0, 5, 8, 3),
            [Query(f"entropyd_hands_live{{{SERIES}}}", "{{instance}}")],
            steps=[(0, BLUE)],
            unit="none",
        ),
        graph(
            "Steps by kind",
            "A second. Replays are not counted. A hand is rolled, sealed or void by a call, or by"
            " time.",
            Place(8, 1, 8, 7),
            [
                Query(
                    f'sum by (step) (rate(entropyd_hand_steps_total{{{SERIES},step!="other"}}'
                    "[$__rate_interval]))",
                    "{{step}}",
                )
            ],
            unit="cps",
            stacked=True,
            colours={
                "open": PURPLE,
                "contribute": YELLOW,
                "rolled": ORANGE,
                "deal": GREEN,
                "closed": BLUE,
                "void": RED,
            },
        ),
        graph(
            "Voids by reason",
            "A second. Unopened: a seat did not open what it had sealed; at one table again and"
            " again it withholds. Expired: nobody ended the hand. Other: a caller's own reason.",
            Place(16, 1, 8, 7),
            [
                Query(
                    f"sum by (reason) (rate(entropyd_hands_voided_total{{{SERIES}}}"
                    "[$__rate_interval]))",
                    "{{reason}}",
                )
            ],
            unit="cps",
            stacked=True,
            colours={"unopened": RED, "expired": ORANGE, "adopted": ORANGE, "other": BLUE},
        ),
    )


def requests() -> Sequence[Panel]:
    """Return the row of the calls."""

    def answered(codes: str) -> str:
        return f"sum(rate(entropyd_requests_total{{{SERIES},code{codes}}}[$__rate_interval]))"

    return (
        graph(
            "Answers",
            "Calls a second, of all methods. Refused: the caller must mend something; failed: we"
            " must.",
            Place(0, 1, 12, 7),
            [
                Query(answered('="OK"'), "answered"),
                Query(answered('="UNAVAILABLE"'), "told to come back"),
                Query(answered('="RESOURCE_EXHAUSTED"'), "overloaded"),
                Query(answered('=~"INTERNAL|DATA_LOSS|UNKNOWN"'), "failed"),
                Query(
                    answered('!~"OK|UNAVAILABLE|RESOURCE_EXHAUSTED|INTERNAL|DATA_LOSS|UNKNOWN"'),
                    "refused",
                ),
            ],
            unit="cps",
            stacked=True,
            colours={
                "answered": GREEN,
                "told to come back": ORANGE,
                "overloaded": RED,
                "failed": PURPLE,
                "refused": BLUE,
            },
        ),
        graph(
            "Time to answer",
            "99 % of the calls were answered within this, of each method that was called. No data:"
            " nobody called.",
            Place(12, 1, 12, 7),
            [
                Query(
                    "histogram_quantile(0.99, sum by (method, le)"
                    f' (rate(entropyd_request_seconds_bucket{{{SERIES},method!="other"}}'
                    # Of the others, which are many, it is not a number: no comparison holds.
                    "[$__rate_interval]))) >= 0",
                    "{{method}}",
                )
            ],
            unit="s",
        ),
    )


def process() -> Sequence[Panel]:
    """Return the row of the daemon itself."""
    return (
        number(
            "Event loop turned",
            "How long ago. It turns ten times a second; systemd restarts the daemon after 20 s.",
            Place(0, 1, 4, 6),
            [Query(f"clamp_min({_LOOP_AGE}, 0)", "{{instance}}")],
            steps=[(0, GREEN), (3, ORANGE), (LOOP_STALLED_S, RED)],
            unit="s",
        ),
        number(
            "Release",
            "All nodes should run the same.",
            Place(4, 1, 4, 3),
            [Query(f"entropyd_build_info{{{SERIES}}}", "{{version}}")],
            steps=[(1, BLUE)],
            names=True,
        ),
        number(
            "Running for",
            "Since the last start.",
            Place(4, 4, 4, 3),
            [Query(f"time() - entropyd_start_time_seconds{{{SERIES}}}", "{{instance}}")],
            steps=[(0, BLUE)],
            unit="s",
        ),
        graph(
            "Processor",
            "Share of one core, 1 for all of it.",
            Place(8, 1, 8, 6),
            [
                Query(
                    f"rate(process_cpu_seconds_total{{{SERIES}}}[$__rate_interval])",
                    "{{instance}}",
                )
            ],
            unit="percentunit",
        ),
        graph(
            "Memory",
            "Resident. The unit allows 1 GiB.",
            Place(16, 1, 8, 6),
            [Query(f"process_resident_memory_bytes{{{SERIES}}}", "{{instance}}")],
            unit="bytes",
        ),
    )


def _percentile(histogram: str, quantile: float, name: str) -> Query:
    buckets = f"entropyd_{histogram}_seconds_bucket{{{SERIES}}}"
    rates = f"sum by (instance, le) (rate({buckets}[$__rate_interval]))"
    return Query(
        f"histogram_quantile({quantile}, {rates})",
        f"{{{{instance}}}} {name}",
    )
