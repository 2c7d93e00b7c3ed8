"""verify.html is what its sources make, admits nothing but itself, and speaks three languages."""

import base64
import re
import shutil
import subprocess
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from entropyd.games.data import DATA
from entropyd.web import build, page, page_hash, page_policy
from tests.reference.javascript import node_binary
from tests.web.test_core import came_of

PAGE = page().decode("utf-8")
SOURCES = {path.name: path.read_text("utf-8") for path in build.SOURCES.iterdir()}


class Elements(HTMLParser):
    """Every element of a page: its name, its attributes, and the text of those that have code."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str]]] = []
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag

    def handle_data(self, data):
        if self._inside in self.code:
            self.code[self._inside].append(data)

    def handle_endtag(self, tag):
        self._inside = None


ELEMENTS = Elements(PAGE)


def test_the_page_is_up_to_date():
    """Also shows that two builds are the same bytes: one of them is checked in."""
    assert build.build() == page()


def test_check_says_so(monkeypatch, tmp_path):
    """`--check` ends well with the page as it is, and with a remedy where it is not."""
    monkeypatch.setattr("sys.argv", ["build", "--check"])
    build.main()
    monkeypatch.setattr(build, "TARGET", tmp_path / "verify.html")
    with pytest.raises(SystemExit, match=r"out of date; run `python -m entropyd\.web\.build`"):
        build.main()
    monkeypatch.setattr("sys.argv", ["build"])
    build.main()
    assert (tmp_path / "verify.html").read_bytes() == page()


def test_the_hash_is_that_of_the_bytes():
    assert sha256(page()).hexdigest() == page_hash()


@pytest.mark.parametrize("kind", ["script", "style"])
def test_the_policy_admits_the_one_script_and_the_one_style_by_hash(kind):
    """A page with one byte more in either would do nothing."""
    (text,) = ELEMENTS.code[kind]
    digest = base64.b64encode(sha256(text.encode("utf-8")).digest()).decode()
    (policy,) = (
        attributes["content"]
        for tag, attributes in ELEMENTS.found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    parts = (part.strip().partition(" ") for part in policy.split(";"))
    directives = {name: value for name, _, value in parts}
    assert f"'sha256-{digest}'" == directives[f"{kind}-src"]
    assert "'none'" == directives["default-src"]
    assert policy in page_policy()


def test_nothing_is_loaded_and_no_attribute_is_code():
    """No handler, no style, no address but fragments of the page and its empty icon."""
    for tag, attributes in ELEMENTS.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        for name in ("src", "href", "action", "formaction", "data", "poster"):
            address = attributes.get(name, "#")
            assert address.startswith("#") or address == "data:,", (tag, name)
    assert not re.search(r"https?://|@import|url\(", PAGE)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\(", PAGE)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|localStorage|cookie", PAGE)


def test_every_module_is_in_the_page():
    modules = {name.removesuffix(".mjs") for name in SOURCES if name.endswith(".mjs")}
    assert modules == set(re.findall(r"^// ---- (\w+)\.mjs$", PAGE, re.MULTILINE))


def test_the_modules_are_scripts_that_node_reads(tmp_path):
    """Put together, they still are one: no name stands twice."""
    script = tmp_path / "page.mjs"
    script.write_text(ELEMENTS.code["script"][0], "utf-8")
    run = subprocess.run([str(node_binary()), "--check", script], capture_output=True, check=False)
    assert (0, b"") == (run.returncode, run.stderr)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("import * as all from './bytes.mjs';", "cannot put together: import"),
        ("export default 3;", "cannot put together: export"),
        ("export { hex as other } from './bytes.mjs';", "cannot put together: export"),
        ("const hex = 3;", "hex is a name of bytes.mjs too"),
        ("import { t } from './main.mjs';", "main.mjs imports itself"),
        ("const text = '</script>';", "would end or hide its element"),
    ],
)
def test_sources_that_cannot_be_put_together_are_refused(tmp_path, line, complaint):
    """Instead of a page that does something else than its modules."""
    sources = tmp_path / "src"
    shutil.copytree(build.SOURCES, sources)
    main = sources / "main.mjs"
    main.write_text(f"{main.read_text('utf-8')}\n{line}\n", "utf-8")
    with pytest.raises(build.BuildError, match=re.escape(complaint)):
        build.build(sources)


# --- Texts ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts():
    (came,) = came_of({"texts": True})
    assert ["en", "pl", "uk"] == came["languages"]
    return came["texts"]


def test_every_text_is_there_in_every_language(texts):
    """Three texts a key, none of them empty, with the same places to be filled in."""
    assert len(texts) > 150
    for key, each in texts.items():
        assert [key, 3] == [key, len(each)]
        assert all(text.strip() == text != "" for text in each), key
        assert 1 == len({tuple(sorted(re.findall(r"\{\w+\}", text))) for text in each}), key


def test_languages_are_not_mixed_up(texts):
    """Ukrainian is Cyrillic, the others are not; hardly a text is left in English."""
    cyrillic = re.compile(r"[\u0400-\u04ff]")
    assert not [key for key, (en, pl, _) in texts.items() if cyrillic.search(en + pl)]
    assert [] == [key for key, (_, _, uk) in texts.items() if not cyrillic.search(uk)]
    same = {key for key, (en, pl, _) in texts.items() if en == pl}
    assert same <= {"machine.mini", "machine.high_roller", "game.blackjack", "outcome.bot"}


def keys_in(pattern, *names):
    joined = "\n".join(SOURCES[f"{name}.mjs"] for name in names)
    return set(re.findall(pattern, joined))


def test_what_the_page_can_say_has_a_text(texts):
    """Each refusal, cause, check, limit and fixed text that stands in the sources."""
    every = [name.removesuffix(".mjs") for name in SOURCES if name.endswith(".mjs")]
    said = {f"refusal.{c}" for c in keys_in(r"insist\([^;]*?, '([\w.]+)'", *every)}
    said |= {f"refusal.{c}" for c in keys_in(r"new Refusal\('([\w.]+)'", *every)}
    causes = keys_in(r"code: '(\w+)'", "causes_round", "causes_draw")
    causes |= keys_in(r"(?m)^ +\['(\w+)', [(\[{]", "causes_round", "causes_draw")
    causes |= keys_in(r"(?m)^  \w+: '(\w+)',$", "causes_draw")
    said |= {f"cause.{code}" for code in causes}
    checks = keys_in(r"compared(?:Lists)?\(\s*'(\w+)'", *every) | keys_in(r"id: '(\w+)'", *every)
    said |= {f"check.{code}" for code in checks}
    said |= keys_in(r"\bt\('([\w./]+)'", *every) | set(re.findall(r'data-t="([\w.]+)"', PAGE))
    assert len(said) > 100
    assert set() == said - texts.keys()


def test_what_the_page_can_say_of_hands_and_logs_has_a_text(texts):
    """Each check, what may be wrong with it, each cause and limit that stands in the sources."""
    walkers = [name.removesuffix(".mjs") for name in SOURCES if re.match("hand|log|lone", name)]
    said = {f"check.{check}" for check in keys_in(r"walk\.begin\('(\w+)'", *walkers)}
    whys = keys_in(r"walk\.(?:must|same)\([^;]*?, '(\w+)'\)", *walkers)
    whys |= keys_in(r"fault: '(\w+)'", "note") | keys_in(r"'([a-z]+_[a-z_]+)'", "log_story")
    said |= {f"why.{why}" for why in whys | {"differs", "own"}}
    codes = keys_in(r"code: ([^}]*)", "causes_hand", "causes_log", "fields", "lone_note")
    causes = {one for code in codes for one in re.findall(r"(?:^|[?:] )'(\w+)'(?! in)", code)}
    said |= {f"cause.{cause}" for cause in causes | {"own_missing"}}
    limits = keys_in(r"code: '(\w+)', (?:names|index|hands|silent|raffles)", "hand", "log_file")
    limits |= keys_in(r"\['(\w+)'\]", "hand", "log_file") - {"open"}
    said |= {f"limit.{limit}" for limit in limits}
    assert len(said) > 150
    assert set() == said - texts.keys()


def test_the_data_of_the_games_is_the_daemon_s():
    """The page has its own copy, to the byte: its hash stands in the rules of every round."""
    ours = re.findall(r"^  `([^`]*)`,$", SOURCES["data.mjs"], re.MULTILINE)
    assert sorted(DATA.values()) == sorted(ours)
