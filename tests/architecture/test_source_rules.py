"""Rules for imports and names, with the exceptions in exceptions.toml, which may only become fewer."""

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.measures import (
    FEATURES,
    PARTICLES,
    ast,
    circles,
    imports,
    is_bare_participle,
    is_one_word,
    mentions,
    names,
    source_files,
)

PACKAGE = Path(__file__).parents[2] / "sparkassets"
TESTS = Path(__file__).parents[1]
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "exceptions.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def files():
    return source_files(PACKAGE)


@pytest.fixture(scope="module")
def modules_by_name(files):
    """The modules that define each function and class, by (kind, name)."""
    found = defaultdict(set)
    for module, text in files.items():
        for kind, name in names(ast.parse(text)):
            found[kind, name].add(module.removeprefix("sparkassets."))
    return found


def without(found, allowed):
    """What is found and not allowed, and what is allowed and no longer found: delete the latter from the list."""
    return {"new": sorted(set(found) - set(allowed)), "gone": sorted(set(allowed) - set(found))}


NOTHING = {"new": [], "gone": []}


def test_no_module_imports_one_that_imports_it(files):
    assert circles(imports(PACKAGE, files)) == []


def test_circles_through_functions_and_types_are_found():
    texts = {
        "pack": "",
        "pack.a": "def f():\n    from pack import b\n",
        "pack.b": "if TYPE_CHECKING:\n    from pack.a import f\n",
    }
    assert circles(imports(Path("pack"), texts)) == [{"pack.a", "pack.b"}]


def test_a_feature_is_mentioned_by_identifiers_outside_of_its_own_modules():
    texts = {
        "pack.spine": 'def f(state):\n    """Marks."""\n    return state.marks\n',
        "pack.other": "# marks\nx = 'marks'\n",
        "pack.core.journal.marks": "marks = ()\n",
        "pack.user": "from pack.core.journal.marks import MarkEntry as Entry\n",
    }
    assert mentions(texts, "marks") == {"spine", "user"}


def test_the_modules_of_a_feature_are_there(files):
    own = {module for _, modules, _ in FEATURES.values() for module in modules}
    assert {module for module in own if f"sparkassets.{module}" not in files} == set()


def test_no_function_is_named_by_a_bare_participle_or_particle(modules_by_name):
    found = {
        f"{module}: {name}"
        for (kind, name), modules in modules_by_name.items()
        if kind == "function" and (is_bare_participle(name) or name in PARTICLES) and name not in EXCEPTIONS["methods"]
        for module in modules
    }
    assert without(found, EXCEPTIONS["functions"]) == NOTHING


def test_no_function_of_the_tests_has_a_private_name():
    found = {
        f"{module}: {name}"
        for module, text in source_files(TESTS).items()
        for kind, name in names(ast.parse(text))
        if kind == "function" and name in EXCEPTIONS["private_names"]
    }
    assert found == set()


def test_names_of_methods_that_every_module_may_use_are_used(modules_by_name):
    assert [name for name in EXCEPTIONS["methods"] if ("function", name) not in modules_by_name] == []


def test_a_class_has_one_word_for_its_name_only_if_the_word_is_in_the_vocabulary(modules_by_name):
    found = {name for kind, name in modules_by_name if kind == "class" and is_one_word(name)}
    assert without(found, EXCEPTIONS["vocabulary"]) == NOTHING


def test_no_two_modules_define_a_class_of_one_name(modules_by_name):
    found = {name for (kind, name), modules in modules_by_name.items() if kind == "class" and len(modules) > 1}
    assert without(found, EXCEPTIONS["classes_in_two_modules"]) == NOTHING
