"""What docs/plugins.md shows is valid with the example of a package, and its lists are those of the package."""

import re
import tomllib

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load_project
from tests.documents import code_blocks, page
from tests.example_package import SOURCE, install_example

PAGE = "docs/plugins.md"
PIECES = [each.text for each in code_blocks(PAGE, "yaml")]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder for a project, with the package installed as far as Python can tell."""
    install_example(tmp_path, monkeypatch)
    return tmp_path


def loaded(home, piece):
    """The project with a piece of the page, of an asset or of its own."""
    own, of_asset = ("", piece) if not piece.startswith("sinks") else (piece, "")
    (home / "project.yml").write_text(f"project: p\nassets: [.]\n{own}")
    sql = "" if of_asset.startswith("source") else "sql: SELECT 'NL00BANK0123456789' AS account\n"
    (home / "all.yml").write_text(f"asset: x\n{sql}{of_asset}")
    return load_project(home, {})


@pytest.mark.parametrize("piece", PIECES)
def test_it_is_valid(piece, home):
    assert loaded(home, piece).assets["x"]


def test_the_page_names_what_the_package_registers():
    shown = tomllib.loads(code_blocks(PAGE, "toml")[0].text)["project"]["entry-points"]
    assert shown == tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["entry-points"]


def test_a_page_of_the_design_has_each_group():
    groups = set(re.findall(r"`(sparkassets\.\w+)`", page("docs/design/kinds.md")))
    assert set(tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["entry-points"]) <= groups


def test_a_check_is_a_condition(home):
    (rule,) = loaded(home, "validations: [{check: iban, column: account}]\n").assets["x"].rules
    assert rule.name == "check(iban)"
    assert rule.check.condition == "`account` RLIKE '^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$'"


@pytest.mark.parametrize(
    ("piece", "messages"),
    [
        (
            "validations: [{check: iben, column: account}]\n",
            ("all.yml:3:23: unknown check 'iben'; installed: iban", "hint: did you mean 'iban'?"),
        ),
        (
            "validations: [{check: unique, column: account}]\n",
            ("all.yml:3:23: 'unique' is a built-in check", "hint: write it as a key, {unique: …}"),
        ),
    ],
)
def test_a_wrong_name_is_refused_at_its_place(home, piece, messages):
    with pytest.raises(SpecError) as refused:
        loaded(home, piece)
    assert all(message in str(refused.value) for message in messages)
