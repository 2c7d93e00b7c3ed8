"""Mutants of draws, bags, raffles and rounds; see mutants.py."""

from tests.campaigns.mutation import Edit, Mutant

UNIT = "tests/unit"

DRAWS = (
    # --- draws and bags ---
    Mutant(
        "bag as full after a draw as before",
        (
            Edit(
                "entropyd/games/bags.py",
                "    return replace(state, left=tuple(left))\n",
                "    return replace(state, left=rules.counts)\n",
            ),
        ),
        f"{UNIT}/test_bags.py::test_a_bag_is_drawn_to_its_last_tile",
    ),
    Mutant(
        "more tiles come back than are out",
        (
            Edit(
                "entropyd/games/bags.py",
                "            if counts[kind] > self.first[kind]:\n",
                "            if False:\n",
            ),
        ),
        f"{UNIT}/test_draw_vectors.py::test_returns_are_refused_by_both_implementations",
    ),
    Mutant(
        "faces from 0",
        (
            Edit(
                "entropyd/games/draw_rules.py",
                "        return [value + 1 for value in values]\n",
                "        return list(values)\n",
            ),
        ),
        f"{UNIT}/test_draw_vectors.py::test_production_draws_the_same",
    ),
    Mutant(
        "claim of a match not compared",
        (
            Edit(
                "entropyd/service/draw_core.py",
                "not hmac.compare_digest(match.state, digest):",
                "not digest:",
            ),
        ),
        f"{UNIT}/test_draw_core.py::test_the_order_of_the_checks",
    ),
    Mutant(
        "draw made with other parameters is answered",
        (
            Edit(
                "entropyd/service/draw_core.py",
                "        if step is None or wish.made(read_draw(step), match):\n",
                "        if True:\n",
            ),
        ),
        f"{UNIT}/test_draw_core.py::test_the_order_of_the_checks",
    ),
    Mutant(
        "large draw that waits is made from one seed",
        (
            Edit(
                "entropyd/service/draw_orders.py",
                "        return Settled(rules, seeds, gathers=True)\n",
                "        return Settled(rules, 1, gathers=True)\n",
            ),
        ),
        f"{UNIT}/test_draw_core.py::test_a_large_draw_needs_a_word_and_its_retry_finds_it",
    ),
    # --- raffles ---
    Mutant(
        "entries hashed in the order in which they came",
        (Edit("entropyd/games/raffle.py", "    encoded.sort()\n", ""),),
        f"{UNIT}/test_raffles.py::test_entries_are_sorted_by_their_bytes_and_not_by_a_language",
    ),
    Mutant(
        "raffle drawn whatever was published",
        (
            Edit(
                "entropyd/service/raffle_core.py",
                "            if request.entries_hash and request.entries_hash"
                " != sealed.rules.entries:\n",
                "            if False:\n",
            ),
        ),
        "tests/system/test_raffles.py"
        "::test_after_sealing_only_the_sealed_entries_can_be_drawn_from",
    ),
    # --- games ---
    Mutant(
        "word-32 accepts the first word beyond the last multiple",
        (Edit("entropyd/draw/samplers.py", "if word < limit:", "if word <= limit:"),),
        f"{UNIT}/test_games.py::test_a_round_of_given_words_is_played_again",
    ),
    Mutant(
        "refills of a cascade come from the bottom",
        (
            Edit(
                "entropyd/games/cascade.py",
                "        machine.symbol(below(BANDS)) if kept is None else kept"
                " for kept in _fallen(grid, removed)\n    )\n",
                "        machine.symbol(below(BANDS)) if kept is None else kept"
                " for kept in reversed([*_fallen(grid, removed)])\n    )[::-1]\n",
            ),
        ),
        f"{UNIT}/test_games.py::test_refills_come_row_by_row_from_the_top_after_the_others_fell",
    ),
    Mutant(
        "shoe not turned over",
        (
            Edit(
                "entropyd/games/blackjack.py", "for card in reversed(order))", "for card in order)"
            ),
        ),
        f"{UNIT}/test_games.py::test_a_shoe_is_six_of_every_card_and_its_last_place_leads",
    ),
    Mutant(
        "mines chosen among the first tiles",
        (
            Edit(
                "entropyd/games/mines.py",
                "        chosen = place + below(tiles - place)\n",
                "        chosen = below(tiles - place)\n",
            ),
        ),
        f"{UNIT}/test_games.py::test_mines_meet_every_order_of_every_set_equally_often",
    ),
    Mutant(
        "rules not bound into a round of v2",
        (
            Edit(
                "entropyd/games/seed_pair.py",
                "client + counted + lp(rules_hash)\n",
                "client + counted + lp(bytes(32))\n",
            ),
        ),
        f"{UNIT}/test_games.py::test_blocks_of_both_profiles",
    ),
    # --- lines of seed pairs ---
    Mutant(
        "nonce given back by a void",
        (
            Edit(
                "entropyd/games/pair_steps.py",
                "        line_after = after(stays_open=False)\n",
                "        line_after = line\n",
            ),
        ),
        f"{UNIT}/test_pair_steps.py"
        "::test_a_draw_that_is_rejected_128_times_voids_the_round_and_spends_its_nonce",
    ),
    Mutant(
        "nonce begins again with another client seed",
        (
            Edit(
                "entropyd/games/pair_line.py",
                "        return replace(self, client_seed=client_seed)\n",
                "        return replace(self, client_seed=client_seed, next_nonce=0)\n",
            ),
        ),
        f"{UNIT}/test_pair_line.py::test_a_change_of_the_client_seed_never_resets_the_nonce",
    ),
    Mutant(
        "seed revealed while a round is open",
        (
            Edit(
                "entropyd/games/pair_line.py",
                '        self._refuse_open_rounds("its pair cannot be revealed")\n',
                "",
            ),
        ),
        f"{UNIT}/test_pair_line.py::test_no_rotation_while_a_round_is_open",
    ),
    Mutant(
        "client seed set after another hash",
        (
            Edit(
                "entropyd/games/pair_line.py",
                "        if shown_hash != self.server_hash:\n",
                "        if False:\n",
            ),
        ),
        f"{UNIT}/test_pair_line.py::test_a_client_seed_is_set_only_against_the_present_hash",
    ),
    Mutant(
        "spent round answered whatever its rules",
        (
            Edit(
                "entropyd/games/pair_steps.py",
                "        return (rules.game, rules.machine, rules.mines)"
                " == (self.game, self.machine, self.mines)\n",
                "        return bool(rules)\n",
            ),
        ),
        f"{UNIT}/test_fair_core.py::test_a_round_is_replayed_for_ever_and_with_other_rules_never",
    ),
)
