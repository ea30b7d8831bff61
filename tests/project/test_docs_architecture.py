"""docs/architecture.md names what there is: layers, folders, classes, functions."""

import ast
import re
import tomllib

import pytest

from tests.documents import ROOT, code_blocks, page

PAGE = "docs/architecture.md"
PACKAGE = ROOT / "sparkassets"
NAMED = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", page(PAGE), flags=re.DOTALL | re.MULTILINE))))


@pytest.fixture(scope="module")
def defined():
    """Every class, function, method and constant of the package, as ``Class``, ``Class.method()``, ``function()``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.ClassDef(name=name):
                    found |= {name, *(f"{name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef))}
                case ast.FunctionDef(name=name):
                    found.add(f"{name}()")
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    found.add(name)
    return found


def kind(name):
    if "/" in name or name.endswith((".py", ".toml")):
        return "path"
    return "code" if re.fullmatch(r"[A-Z]\w+(\.\w+)?|\w+\(\)", name) else "other"


@pytest.mark.parametrize("name", [name for name in NAMED if kind(name) == "path" and not name.startswith("landing/")])
def test_a_path_is_there(name):
    path = next((root / name for root in (PACKAGE, ROOT) if (root / name).exists()), None)
    assert path is not None
    assert path.is_dir() == name.endswith("/")


@pytest.mark.parametrize("name", [name for name in NAMED if kind(name) == "code"])
def test_a_name_is_defined(name, defined):
    assert name in defined


def test_most_names_are_checked():
    assert sum(kind(name) == "code" for name in NAMED) > 40
    assert {name for name in NAMED if kind(name) == "other"} == {
        "--json",
        "best_shops",
        "daily_revenue",
        "orders",
        "sparkassets plan",
    }


@pytest.mark.parametrize(
    ("language", "contract"), [("layers", "dependencies point one way"), ("rooms", "the core's rooms point one way")]
)
def test_the_layers_are_those_of_the_linter(language, contract):
    found = tomllib.loads(page("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in found if each["name"] == contract)
    (block,) = code_blocks(PAGE, language)
    assert block.text.splitlines() == layers
    folders = {layer.split(".")[1] for line in layers for layer in line.split(" | ")}
    if language == "layers":
        rest = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_", "py."))}
        assert folders == rest


def test_six_minutes_are_enough():
    assert sum(any(map(str.isalnum, word)) for word in page(PAGE).split()) < 1330
