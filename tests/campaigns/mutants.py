"""The mutants: mistakes that somebody could make here, and the test that sees each.

    python -m tests.campaigns.mutants

prints them with the tests that they died in, and ends with 1 if one survived. The first ten are
those that this design must never make; each of the others would be as quiet.
"""

import sys
from textwrap import shorten

from tests.campaigns.mutants_draws import DRAWS
from tests.campaigns.mutants_hands import HANDS
from tests.campaigns.mutation import Edit, Mutant, Tree, copied_tree

UNIT = "tests/unit"

TEN = (
    Mutant(
        "v <= k in the masked draw",
        (
            Edit(
                "entropyd/draw/samplers.py",
                "        if value < bound:\n",
                "        if value <= bound:\n",
            ),
        ),
        f"{UNIT}/test_samplers.py"
        "::test_masked_draw_accepts_below_the_bound_and_rejects_the_bound_itself",
    ),
    Mutant(
        "swap below i (Sattolo)",
        (
            Edit(
                "entropyd/draw/segments.py",
                "    return range(size, 1, -1)\n",
                "    return range(size - 1, 0, -1)\n",
            ),
        ),
        f"{UNIT}/test_shuffle.py::test_every_order_is_met_equally_often_over_all_bit_strings",
    ),
    Mutant(
        "stream not restarted at a segment",
        (
            Edit(
                "entropyd/draw/shuffle.py",
                "        stream = Keystream(seed, binding, number)\n",
                "        stream = stream if number else Keystream(seed, binding, number)\n",
            ),
        ),
        f"{UNIT}/test_shuffle.py::test_every_segment_starts_its_own_stream_at_the_first_bit",
    ),
    Mutant(
        "256 for 249",
        (Edit("entropyd/draw/segments.py", "SEGMENT_BITS = 249\n", "SEGMENT_BITS = 256\n"),),
        f"{UNIT}/test_segments.py::test_segments_end_at_249_bits_and_not_at_256",
    ),
    Mutant(
        "reseed skipped after the first segment",
        (
            Edit(
                "entropyd/rbg/construction.py",
                "            self._drbg.reseed(_seed_entropy(samples, fresh), ",
                "            segment or self._drbg.reseed(_seed_entropy(samples, fresh), ",
            ),
        ),
        f"{UNIT}/test_construction.py::test_reseed_skipped_or_class_dropped_would_be_seen",
    ),
    Mutant(
        "class user dropped from conditioning",
        (
            Edit(
                "entropyd/rbg/conditioning.py",
                "condition(EntropyClass.USER, user)",
                "condition(EntropyClass.USER, ())",
            ),
        ),
        f"{UNIT}/test_conditioning.py::test_dropping_a_class_from_conditioning_changes_its_part",
    ),
    Mutant(
        "commit after answer",
        (
            Edit(
                "entropyd/runtime/writer.py",
                "        began_ns = time.monotonic_ns()\n",
                "        began_ns = time.monotonic_ns()\n"
                "        from entropyd.ledger.contract import HandRecord, Recorded\n"
                "        early = [Recorded(HandRecord(1, b'', draft)) for draft in batch.drafts]\n"
                "        self._loop.call_soon_threadsafe(self._confirmed, batch, early, 0)\n",
            ),
        ),
        f"{UNIT}/test_writer.py::test_no_answer_before_the_commit_has_returned",
    ),
    Mutant(
        "alarm keeps its block",
        (
            Edit(
                "entropyd/entropy/entropy_source.py",
                "            released.clear()  # an alarm takes",
                "            # an alarm takes",
            ),
        ),
        f"{UNIT}/test_entropy_source.py::test_alarm_discards_its_block",
    ),
    Mutant(
        "history lost on reopen",
        (
            Edit(
                "entropyd/entropy/entropy_source.py",
                "        self._is_open = True\n",
                "        self._is_open, self.history = True, HealthHistory()\n",
            ),
        ),
        f"{UNIT}/test_entropy_source.py::test_reopening_keeps_the_history",
    ),
    Mutant(
        "credit spent twice",
        (
            Edit(
                "entropyd/entropy/reservoir.py",
                "        for lane, count in plan.drops:\n            lane.drop(count)\n",
                "        for _, count in plan.drops:\n",
            ),
        ),
        f"{UNIT}/test_gate.py::test_credit_spent_twice_would_be_seen",
    ),
)

FURTHER = (
    # --- draws ---
    Mutant(
        "every step of a shuffle chooses among all places",
        (
            Edit(
                "entropyd/draw/segments.py",
                "    return range(size, 1, -1)\n",
                "    return [size] * (size - 1)\n",
            ),
        ),
        f"{UNIT}/test_shuffle.py::test_every_order_is_met_equally_often_over_all_bit_strings",
    ),
    Mutant(
        "word-32 accepts every word",
        (Edit("entropyd/draw/samplers.py", "WORDS - WORDS % bound\n", "WORDS\n"),),
        f"{UNIT}/test_samplers.py::test_word_draw_accepts_below_the_last_whole_multiple",
    ),
    # --- from samples to seeds ---
    Mutant(
        "samples of getrandom left out of the seeds",
        (
            Edit(
                "entropyd/rbg/construction.py",
                "        os=((OS_SOURCE_ID, os_samples),),\n",
                "",
            ),
        ),
        f"{UNIT}/test_construction.py::test_os_samples_are_mixed_into_every_seed",
    ),
    Mutant(
        "error state not latched",
        (
            Edit(
                "entropyd/rbg/construction.py",
                "        self._state = ConstructionState.ERROR\n",
                "",
            ),
        ),
        f"{UNIT}/test_construction.py::test_any_failure_inside_the_drbg_latches",
    ),
    # --- many hands ---
    Mutant(
        "a batch's hand without samples of its own",
        (
            Edit(
                "entropyd/rbg/construction.py",
                'BATCH_SEED_LABEL + lp(x) + entropy, "sha512")',
                'BATCH_SEED_LABEL + lp(x), "sha512")',
            ),
        ),
        f"{UNIT}/test_construction.py::test_what_a_batch_is_made_from_is_in_its_seeds",
    ),
    Mutant(
        "swap below i in the draw of many decks",
        (
            Edit(
                "entropyd/draw/batch.py",
                "    bounds = [*range(size, 1, -1), 0]\n",
                "    bounds = [*range(size - 1, 0, -1), 0]\n",
            ),
        ),
        f"{UNIT}/test_batch_kernel.py::test_thousands_of_decks_are_those_of_shuffle",
    ),
    Mutant(
        "a deck that needs a second block is dealt from the next one's",
        (
            Edit(
                "entropyd/draw/batch.py",
                "(accepted == size - 1) & (at - first <= BLOCK_BITS)\n",
                "accepted == size - 1\n",
            ),
        ),
        f"{UNIT}/test_batch_kernel.py::test_a_deck_that_needs_a_second_block_is_among_others",
    ),
    Mutant(
        "a batch is released without its reseed",
        (
            Edit(
                "entropyd/entropy/gate.py",
                "            missing += [policy.user_millibits] * hands\n",
                "            missing += [policy.user_millibits] * (hands - 1)\n",
            ),
        ),
        f"{UNIT}/test_gate.py::test_a_batch_costs_a_seed_more_than_its_hands",
    ),
    # --- health and credit ---
    Mutant(
        "window with an alarm joins the next one's credit",
        (
            Edit(
                "entropyd/entropy/entropy_source.py",
                "            samples = samples[self._window :]\n",
                "",
            ),
        ),
        f"{UNIT}/test_entropy_source.py"
        "::test_startup_after_an_alarm_begins_behind_the_window_that_failed",
    ),
    Mutant(
        "reopening ends the running repetition count",
        (
            Edit(
                "entropyd/entropy/entropy_source.py",
                "        self._is_open = True\n",
                "        self._is_open = True\n        self._begin_stream()\n",
            ),
        ),
        f"{UNIT}/test_entropy_source.py::test_reopening_keeps_the_running_repetition_count",
    ),
    Mutant(
        "credit is the claim, whatever was assessed",
        (
            Edit(
                "entropyd/entropy/release.py",
                "min(self._info.claimed_millibits, self._assessment.millibits or 0)",
                "self._info.claimed_millibits",
            ),
        ),
        f"{UNIT}/test_entropy_source.py::test_credit_is_the_assessment_where_the_claim_is_higher",
    ),
    Mutant(
        "restart takes the latch away",
        (
            Edit(
                "entropyd/entropy/health_history.py",
                '            latch=_latch(fields["latch"]),\n',
                "            latch=None,\n",
            ),
        ),
        f"{UNIT}/test_entropy_source.py::test_a_restart_keeps_the_latch",
    ),
    # --- the gate ---
    Mutant(
        "alarm leaves the credit of what waits",
        (
            Edit(
                "entropyd/runtime/intake.py",
                "            self._gate.withdraw(report.source_id)\n",
                "            pass\n",
            ),
        ),
        f"{UNIT}/test_intake.py::test_an_alarm_takes_the_credit_even_if_the_source_is_healthy_again",
    ),
    Mutant(
        "block begun by one seed is dealt from its first sample again",
        (Edit("entropyd/entropy/reservoir.py", ", 0, lane.start)\n", ", 0, 0)\n"),),
        f"{UNIT}/test_reservoir.py::test_samples_leave_in_the_order_of_arrival",
    ),
    Mutant(
        "user data mixed into every seed again",
        (
            Edit(
                "entropyd/entropy/gate.py",
                "            self._pools[tenant].commit(users)\n",
                "            pass\n",
            ),
        ),
        f"{UNIT}/test_gate.py::test_user_data_enters_one_seed",
    ),
    Mutant(
        "user data lowers the hardware floor",
        (
            Edit(
                "entropyd/entropy/gate.py",
                "for amount in (hardware, cover)]",
                "for amount in (policy.hardware_millibits - policy.user_millibits + cover, cover)]",
            ),
        ),
        f"{UNIT}/test_gate.py::test_user_data_never_lowers_the_hardware_floor",
    ),
    Mutant(
        "one source gives what several must",
        (
            Edit(
                "entropyd/entropy/gate.py",
                "else FromEach(millibits, several)",
                "else millibits * several",
            ),
        ),
        f"{UNIT}/test_gate_sources.py::test_a_rich_source_does_not_stand_in_for_a_poor_one",
    ),
    Mutant(
        "a window that came before is taken for new",
        (
            Edit(
                "entropyd/entropy/repeated_block.py",
                "if fingerprint in self._young or fingerprint in self._old:",
                "if fingerprint in self._old:",
            ),
        ),
        f"{UNIT}/test_health.py"
        "::test_a_window_that_comes_again_later_is_seen_by_the_repeated_block_test_alone",
    ),
    Mutant(
        "drift is measured from the block before",
        (
            Edit(
                "entropyd/entropy/bias_drift.py",
                "        departure = abs(ones - self._reference)\n",
                "        departure, self._reference = abs(ones - self._reference), ones\n",
            ),
        ),
        f"{UNIT}/test_health.py::test_slow_drift_adds_up",
    ),
    Mutant(
        "the order of samples is not assessed",
        (
            Edit(
                "entropyd/entropy/assessment.py",
                "lowest = min(assess(self._total, self._sample_bits), self._of_order)",
                "lowest = assess(self._total, self._sample_bits)",
            ),
        ),
        f"{UNIT}/test_assessment.py::test_order_counts_although_no_value_is_frequent",
    ),
    Mutant(
        "dealing goes on without a required source",
        (
            Edit(
                "entropyd/entropy/standing.py",
                "        return self._gravest(name for name in self._faults"
                " if self._facts[name].required)\n",
                "        return None\n",
            ),
        ),
        f"{UNIT}/test_gate.py::test_a_required_source_that_is_not_healthy_holds_everything",
    ),
    Mutant(
        "repeated user entropy counts again",
        (
            Edit(
                "entropyd/entropy/user.py",
                "        if digest in self._seen:\n",
                "        if False:\n",
            ),
        ),
        f"{UNIT}/test_user.py::test_a_replay_counts_for_nothing_whoever_sends_it",
    ),
    # --- one hand, one deck ---
    Mutant(
        "answer made of the draw, not of its record",
        (
            Edit(
                "entropyd/runtime/draws.py",
                "        recording.add_done_callback("
                "lambda done: self._recorded(waiters, done, reseeds))\n",
                "        from entropyd.ledger.contract import HandRecord, Recorded\n"
                "        for waiter, draft in zip(waiters, drafts, strict=True):\n"
                "            self._settle(waiter)\n"
                "            waiter.decide([Recorded(HandRecord(1, b'', draft))])\n",
            ),
        ),
        f"{UNIT}/test_dealer.py::test_a_hand_is_drawn_recorded_and_answered_from_the_record",
    ),
    Mutant(
        "claim not compared",
        (
            Edit(
                "entropyd/runtime/orders.py",
                "    if draft.binding == binding and same_claim:\n",
                "    if draft.binding == binding:\n",
            ),
        ),
        f"{UNIT}/test_dealer.py::test_a_spent_hand_is_refused_to_another_claim_table_or_deck",
    ),
    Mutant(
        "spent hand costs another draw",
        (
            Edit(
                "entropyd/runtime/steps.py",
                "        if record is None:\n            return None\n",
                "        if True:\n            return None\n",
            ),
        ),
        f"{UNIT}/test_dealer.py::test_a_spent_hand_is_refused_to_another_claim_table_or_deck",
    ),
    Mutant(
        "waiter's time never over",
        (
            Edit(
                "entropyd/runtime/steps.py",
                "max(0, answer_by_ns - self.clock_ns()) / 1e9, wake",
                "3600, wake",
            ),
        ),
        f"{UNIT}/test_dealer.py::test_a_waiter_is_answered_when_its_time_is_over_and_not_before",
    ),
    Mutant(
        "queue without bounds",
        (
            Edit(
                "entropyd/runtime/waiters.py",
                "        return len(self) + places <= self._capacity"
                " and taken + places <= self._share\n",
                "        return True\n",
            ),
        ),
        f"{UNIT}/test_waiters.py::test_bounds_hold_and_a_flood_leaves_the_others_their_share",
    ),
    # --- the ledger ---
    Mutant(
        "transaction left open until the next one",
        (
            Edit(
                "entropyd/ledger/sqlite.py",
                '        writer.execute("BEGIN IMMEDIATE")\n',
                '        writer.in_transaction and writer.execute("COMMIT")\n'
                '        writer.execute("BEGIN IMMEDIATE")\n',
            ),
            Edit("entropyd/ledger/sqlite.py", '            writer.execute("COMMIT")\n', ""),
        ),
        "tests/contract/test_sqlite.py"
        "::test_a_committed_hand_is_visible_to_another_process_at_once",
    ),
    Mutant(
        "log never synchronised, and nobody looks",
        (
            Edit(
                "entropyd/ledger/sqlite_file.py",
                '"PRAGMA synchronous = FULL"',
                '"PRAGMA synchronous = OFF"',
            ),
            Edit(
                "entropyd/ledger/sqlite_file.py",
                "        _check_synchronous(connection)\n",
                "",
            ),
        ),
        "tests/contract/test_sqlite.py::test_the_connection_is_durable_and_the_file_is_ours",
    ),
    Mutant(
        "spent hand drawn anew",
        (
            Edit(
                "entropyd/ledger/sqlite_numbers.py",
                '"INSERT INTO spent (',
                '"REPLACE INTO spent (',
            ),
            Edit(
                "entropyd/ledger/sqlite_numbers.py",
                "return self._spent.get(key)",
                "return None",
            ),
        ),
        "tests/contract/test_sqlite.py::TestSqliteLedger::test_a_spent_hand_keeps_its_deck",
    ),
    Mutant(
        "table's number stands still within a commit",
        (Edit("entropyd/ledger/sqlite_numbers.py", "        row.next_sequence += 1\n", ""),),
        "tests/contract/test_sqlite.py"
        "::TestSqliteLedger::test_each_table_counts_from_one_without_gaps",
    ),
    Mutant(
        "secret not bound to its row",
        (
            Edit(
                "entropyd/ledger/secrets.py",
                "encrypt(NONCE, plaintext, aad)",
                "encrypt(NONCE, plaintext, None)",
            ),
            Edit(
                "entropyd/ledger/secrets.py",
                "decrypt(NONCE, ciphertext, aad)",
                "decrypt(NONCE, ciphertext, None)",
            ),
        ),
        f"{UNIT}/test_secrets.py::test_a_secret_moved_elsewhere_does_not_open",
    ),
)

MUTANTS = TEN + FURTHER + DRAWS + HANDS


def main() -> int:
    """Print what became of each mutant; return how the process ends."""
    with copied_tree() as tree:
        whole = tree.run(sorted({mutant.test for mutant in MUTANTS}))
        if not whole.all_passed():
            print(f"without any mutant the named tests do not pass:\n{whole.output}")
            return 1
        print("mutant | file | named test | died in s | by")
        died = sum([_told(tree, mutant) for mutant in MUTANTS])
    print(f"{died} of {len(MUTANTS)} mutants died in their named tests")
    return 0 if died == len(MUTANTS) else 1


def _told(tree: Tree, mutant: Mutant) -> bool:
    """Print a mutant's line; return whether it died."""
    died = False
    try:
        run = tree.kill(mutant)
        end = f"{run.seconds:.1f} | {shorten(run.cause_of_death(), 80)}"
        died = True
    except AssertionError as error:
        end = f"NOT | {error}"
    print(f"{mutant.name} | {mutant.files} | {mutant.test} | {end}", flush=True)
    return died


if __name__ == "__main__":
    sys.exit(main())
