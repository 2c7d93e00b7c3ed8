"""docs/vectors: made again, proved to take every branch, and drawn again by production."""

import json
from dataclasses import dataclass
from hashlib import sha512
from pathlib import Path

import pytest

from entropyd.draw.keystream import Keystream
from entropyd.draw.samplers import SAMPLERS, Sampler
from entropyd.draw.segments import sample_bounds, shuffle_bounds, split
from entropyd.draw.shuffle import draw_values, sample, shuffle
from entropyd.rbg.conditioning import SourceSamples
from entropyd.rbg.construction import SeedConstruction
from tests.reference import make_vectors, naive
from tests.reference.trace import ALL_BRANCHES, trace

VECTORS = Path(__file__).parents[2] / "docs/vectors"
DRAWS = json.loads((VECTORS / "draws.json").read_text("utf-8"))["cases"]
RUNS = json.loads((VECTORS / "seeds.json").read_text("utf-8"))["runs"]
unhex = bytes.fromhex


def label(case):
    return case["label"]


def bounds_of(case):
    if case["kind"] == "list":
        return case["bounds"]
    if case["kind"] == "shuffle":
        return shuffle_bounds(case["n"])
    return sample_bounds(case["n"], case["m"])


def seeds_of(case):
    return [unhex(seed) for seed in case["seeds"]]


def test_the_files_are_those_that_the_generator_makes():
    """Vectors and worked example are never edited by hand."""
    for path, text in make_vectors.files().items():
        assert text == path.read_text("utf-8"), f"{path.name}: run tests.reference.make_vectors"


@pytest.mark.parametrize("case", DRAWS, ids=label)
def test_a_case_takes_the_branches_that_it_names(case):
    """Found by watching the bits that the reference takes for the recorded inputs."""
    seen = trace(list(bounds_of(case)), seeds_of(case), unhex(case["X"]), case["sampler"])
    assert case["covers"] == sorted(seen.branches)
    assert case["draws"] == seen.values


def test_together_the_cases_take_every_branch():
    """No rejection, block or segment branch is left to chance."""
    traces = [
        trace(list(bounds_of(case)), seeds_of(case), unhex(case["X"]), case["sampler"])
        for case in DRAWS
    ]
    assert frozenset().union(*(seen.branches for seen in traces)) == ALL_BRANCHES


@pytest.mark.parametrize("case", DRAWS, ids=label)
def test_production_draws_the_same_values(case):
    """Segments, values, and the order or sample that they give."""
    sampler, X, seeds = Sampler(case["sampler"]), unhex(case["X"]), seeds_of(case)
    segments = split(bounds_of(case))
    assert case["segment_bounds"] == [len(segment) for segment in segments]
    assert case["draws"] == list(draw_values(segments, seeds, X, sampler))
    if case["kind"] == "shuffle":
        assert case["result"] == shuffle(case["n"], seeds, X, sampler)
    if case["kind"] == "sample":
        assert case["result"] == sample(case["n"], case["m"], seeds, X, sampler)


class WatchedKeystream(Keystream):
    """Counts bits, and blocks as they are made."""

    def __init__(self, seed, binding, segment):
        super().__init__(seed, binding, segment)
        self.taken = 0
        self.blocks = 0

    def take(self, count):
        self.taken += count
        return super().take(count)

    def _append_block(self):
        self.blocks += 1
        super()._append_block()


@pytest.mark.parametrize("case", DRAWS, ids=label)
def test_production_takes_the_same_bits(case):
    """As many bits from each segment, and no block that is not needed."""
    below = SAMPLERS[Sampler(case["sampler"])]
    taken, blocks = [], []
    for number, bounds in enumerate(split(bounds_of(case))):
        stream = WatchedKeystream(unhex(case["seeds"][number]), unhex(case["X"]), number)
        for bound in bounds:
            below(stream, bound)
        taken.append(stream.taken)
        blocks.append(stream.blocks)
    assert case["bits"] == taken
    assert [-(-bits // 512) for bits in taken] == blocks


# --- Seeds -------------------------------------------------------------------


@dataclass
class Gated:
    hardware: list[SourceSamples]
    cover: list[SourceSamples]
    user: list[SourceSamples]


@dataclass
class GatedHand:
    hardware: list[SourceSamples]
    cover: list[SourceSamples]


def sources(classes, name):
    return [(source, unhex(samples)) for source, samples in classes[name].items()]


def gated(classes):
    return Gated(*(sources(classes, name) for name in ("hardware", "cover", "user")))


def os_samples(classes):
    return unhex(classes["os"]["getrandom"])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["origin"])
def test_production_makes_the_same_seeds(run):
    """Instantiate, seeds over one segment and three, stirs between them."""
    construction = SeedConstruction(run["origin"])
    construction.instantiate(
        gated(run["instantiate"]), os_samples(run["instantiate"]), unhex(run["nonce"])
    )
    for step in run["steps"]:
        if step["do"] == "stir":
            construction.stir(gated(step))
            continue
        if step["do"] == "batch":
            check_batch(construction, step)
            continue
        made = construction.seed_draw(
            unhex(step["X"]),
            [gated(classes) for classes in step["segments"]],
            [os_samples(classes) for classes in step["segments"]],
        )
        assert step["seeds"] == [seed.hex() for seed in made.seeds]
        assert step["blinding"] == made.blinding.hex()
        assert step["salt_key"] == made.salt_key.hex()


def check_batch(construction, step):
    """Make a batch, by its hands or as many as the vector says, and compare what comes out."""
    shared = gated(step["shared"]), os_samples(step["shared"])
    if "made" in step:
        bindings, samples = made_hands(step["made"])
        made = construction.seed_batch(*shared, bindings, samples)
        joined = b"".join(one.seeds[0] + one.blinding + one.salt_key for one in made)
        assert step["digest"] == sha512(joined).hexdigest()
        return
    made = construction.seed_batch(
        *shared,
        [unhex(hand["X"]) for hand in step["hands"]],
        [GatedHand(sources(hand, "hardware"), sources(hand, "cover")) for hand in step["hands"]],
    )
    for hand, one in zip(step["hands"], made, strict=True):
        assert (hand["seed"],) == tuple(seed.hex() for seed in one.seeds)
        assert hand["blinding"] == one.blinding.hex()
        assert hand["salt_key"] == one.salt_key.hex()


def made_hands(count):
    """Return the bindings and samples of section 14's long batches."""
    hands = [make_vectors.batch_hand(number) for number in range(count)]
    return (
        [binding for binding, _, _ in hands],
        [GatedHand([*hardware.items()], [*cover.items()]) for _, hardware, cover in hands],
    )


def test_batches_are_cut_at_512_hands():
    """Long batches end before, at and after the end of a request, also of the second."""
    steps = [step for run in RUNS for step in run["steps"] if step["do"] == "batch"]
    sizes = [step.get("made") or len(step["hands"]) for step in steps]
    assert sizes == [1, 3, 511, 512, 513, 1000, 1024, 1025]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["origin"])
def test_every_sample_of_a_seed_matters(run):
    """Flipping one bit of any source of the last draw changes its seed, and only from there on."""
    step = run["steps"][-1]
    [classes] = step["segments"]
    for name in ("hardware", "cover", "user", "os"):
        for source in classes[name]:
            changed = {key: dict(value) for key, value in classes.items()}
            first, *rest = unhex(changed[name][source])
            changed[name][source] = bytes([first ^ 0x80, *rest]).hex()
            assert step["seeds"] != replay(run, changed)[-1]
    assert [step["seeds"] for step in run["steps"] if step["do"] == "draw"] == replay(run, classes)


def replay(run, last_classes):
    """Return the seeds of every draw by the naive reference, the last from other samples."""
    hardware, cover, user, os = unhexed(run["instantiate"])
    drbg = naive.instantiate(run["origin"], hardware, cover, user, os, unhex(run["nonce"]))
    drawn = []
    for number, step in enumerate(run["steps"], 1):
        if step["do"] == "stir":
            hardware, _, user, _ = unhexed(step)
            naive.stir(drbg, hardware, user)
        elif step["do"] == "batch":
            replay_batch(drbg, step)
        else:
            segments = [last_classes] if number == len(run["steps"]) else step["segments"]
            X = unhex(step["X"])
            seeds, _, _ = naive.seed_draw(drbg, X, [unhexed(classes) for classes in segments])
            drawn.append([seed.hex() for seed in seeds])
    return drawn


def replay_batch(drbg, step):
    hands = [
        (unhex(hand["X"]), dict(sources(hand, "hardware")), dict(sources(hand, "cover")))
        for hand in step.get("hands", ())
    ]
    hands = hands or [make_vectors.batch_hand(number) for number in range(step["made"])]
    naive.seed_batch(drbg, unhexed(step["shared"]), hands)


def unhexed(classes):
    return [dict(sources(classes, name)) for name in ("hardware", "cover", "user", "os")]
