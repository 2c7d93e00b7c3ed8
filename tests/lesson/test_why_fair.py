"""docs/why-fair.md says what the code computes: every number, table and figure."""

import re
from pathlib import Path

import pytest

from bench.lesson.facts import PUBLISHED, phrases, tables
from bench.lesson.figures import FIGURES, draw_all

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/why-fair.md").read_text("utf-8")
NUMBER = re.compile(r"\d[\d.,/]*\d|\d")
TABLE = re.compile(r"<!-- table (\w+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
# What a clock measured on one machine is no result.
MEASURED = re.compile(r"<!-- measured -->\n.*?\n\n", re.DOTALL)
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|^ {4}.*$", re.MULTILINE)


def prose():
    """The text on one line, without tables, code, links' targets, and what was measured."""
    text = CODE.sub(" ", MEASURED.sub(" ", TABLE.sub(" ", TEXT)))
    return " ".join(text.split())


@pytest.mark.parametrize("phrase", list(phrases()))
def test_every_computed_phrase_is_said(phrase):
    assert phrase in prose()


def test_no_number_is_said_that_was_not_computed():
    """Those of the algorithms' own words, 1 to 100 for instance, stand in phrases too."""
    known = {number for text in (*phrases(), *PUBLISHED) for number in NUMBER.findall(text)}
    assert set() == set(NUMBER.findall(prose())) - known


@pytest.mark.timeout(900)
def test_tables_are_those_that_are_computed():
    assert tables() == dict(TABLE.findall(TEXT))


def test_figures_are_those_that_are_drawn(tmp_path):
    drawn = {path.name: path.read_text("utf-8") for path in draw_all(tmp_path)}
    kept = {name: (ROOT / "docs/img" / name).read_text("utf-8") for name in FIGURES}
    assert [] == [name for name in FIGURES if drawn[name] != kept[name]]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_shown(name):
    assert f"](img/{name})" in TEXT
