"""The tests bite: each mutant dies in its named test, by an assertion of that test."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.campaigns.mutants import MUTANTS, TEN
from tests.campaigns.mutation import Edit, Mutant, Tree, copied_tree

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
NAMED = sorted({mutant.test for mutant in MUTANTS})


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    """A copy of the tree, shared: every test leaves it as it was."""
    with copied_tree() as tree:
        yield tree


def test_the_named_tests_pass_without_a_mutant(tree: Tree):
    """Otherwise their failing would say nothing."""
    run = tree.run(NAMED)
    assert run.all_passed(), run.output


@pytest.mark.parametrize("name", BY_NAME)
def test_it_dies_in_its_named_test(tree: Tree, name: str):
    """The named test fails, and by what it asserts."""
    assert tree.kill(BY_NAME[name]).cause_of_death()


def test_there_are_ten_and_more_and_no_two_are_the_same():
    """A mutant that stands there twice would count twice."""
    assert len(TEN) == 10
    assert len({mutant.edits for mutant in MUTANTS}) == len(BY_NAME) == len(MUTANTS)


# --- and this campaign bites too --------------------------------------------------------

HARMLESS = Mutant(
    "a comment of another wording",
    (
        Edit(
            "entropyd/draw/segments.py", "\nSEGMENT_BITS = 249\n", "\nSEGMENT_BITS = 249  # bits\n"
        ),
    ),
    next(mutant.test for mutant in TEN if mutant.name == "256 for 249"),
)


def judge(tree: Tree, new: str) -> None:
    """Try to pass off a change of one line as a mutant that died."""
    edit = replace(HARMLESS.edits[0], new=new)
    tree.kill(replace(HARMLESS, edits=(edit,))).cause_of_death()


def test_a_change_that_no_test_can_see_survives(tree: Tree):
    """Nothing is reported dead that lives."""
    with pytest.raises(AssertionError, match=r"survived: [1-9]"):
        judge(tree, HARMLESS.edits[0].new)


def test_code_that_cannot_be_imported_is_no_kill(tree: Tree):
    """A test that could not begin has seen nothing: pytest reports an error, not a failure."""
    with pytest.raises(AssertionError, match=r"pytest ended with|error, no assertion"):
        judge(tree, "\nSEGMENT_BITS = 249 +\n")


def test_code_that_raises_is_no_kill(tree: Tree):
    """A stray exception fails the test, but not by what it asserts."""
    with pytest.raises(AssertionError, match="failure, no assertion: TypeError"):
        judge(tree, "\nSEGMENT_BITS = None\n")


@pytest.mark.parametrize(("old", "times"), [("no such text", 0), ("return", "[2-9]")])
def test_a_mutant_that_lost_its_place_is_an_error(tree: Tree, old: str, times: object):
    """Its text is gone, or no longer the only one: somebody must look."""
    lost = replace(HARMLESS, edits=(Edit("entropyd/draw/segments.py", old, "x"),))
    with pytest.raises(AssertionError, match=f"stands there {times} times, expected once"):
        tree.kill(lost)


def test_the_copy_is_changed_back(tree: Tree):
    """Also after an edit that could not be made."""
    path = tree.root / "entropyd/draw/segments.py"
    before = path.read_bytes()
    second = Edit("entropyd/draw/segments.py", "no such text", "x")
    with (
        pytest.raises(AssertionError),
        tree.mutated(replace(HARMLESS, edits=(*TEN[3].edits, second))),
    ):
        pytest.fail("an edit was made that cannot be")
    assert before == path.read_bytes()


def test_a_module_of_another_tree_fails_the_run(tree: Tree):
    """Left to itself Python finds the drivers where they are installed: that run is no verdict."""
    with pytest.raises(AssertionError, match="imported from outside the copy"):
        tree.run(["tests/drivers/test_parts.py::test_unpaced_is_always_full"], paths=())
