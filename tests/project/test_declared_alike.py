"""What `validate` reads of a module, the decorators take when it is imported: the same keys, the same values."""

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkassets.authoring import AssetKeys, declarations_in
from sparkassets.core.spec.files import AssetFile, keys_of
from sparkassets.errors import SpecError
from sparkassets.project import load
from tests.depth import examples, some

GIVEN = "asset: orders\nsource: delta\npath: landed/orders\n"
KEYS = sorted({*keys_of(AssetFile), *AssetKeys.__annotations__, "outlet", "validations"})
VALUES = (
    *("None", "True", "2", "'x'", "'lake/x'", "'1h'", "'@daily'", "'2025-01-31'", "'UTC'", "'replace'", "'evolve'"),
    *("'skip'", "'spark'", "'SELECT 1 AS n'", "'csv'", "[]", "['a', 'b']", "['orders']", "{}", "{'a': {}, 'b': {}}"),
    *("{'id': 'bigint'}", "{'orders': {}}", "{'seconds': 60}", "{'upsert': {'keys': ['id']}}", "{'publish': {}}"),
)
FORMS = (
    "@asset({})\ndef made(orders): ...\n",
    "@asset('made', {})\ndef a_function(orders): ...\n",
    "asset('made', sql='SELECT 1 AS n', {})\n",
    "asset('made', source='csv', path='landing/*.csv', {})\n",
    "@multi_asset({})\ndef made(orders): ...\n",
    "@multi_asset(outlets=['one', 'two'], {})\ndef made(orders): ...\n",
    "@multi_asset(outlets={{'one': {{}}, 'two': {{{inner}}}}})\ndef made(orders): ...\n",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with a source and a module that each example writes anew."""
    made = tmp_path_factory.mktemp("alike")
    (made / "conf/assets").mkdir(parents=True)
    (made / "jobs").mkdir()
    (made / "conf/project.yml").write_text("project: shop\npython: [jobs]\n")
    (made / "conf/assets/given.yml").write_text(GIVEN)
    return made


def is_read(folder: Path, code: str) -> bool:
    """Whether `validate` takes the module, by its text alone."""
    (folder / "jobs/made.py").write_text(code)
    try:
        load(folder / "conf", {})
    except SpecError:
        return False
    return True


def imported(code: str) -> list[str]:
    """The assets that the module declares when it is imported."""
    module = ModuleType("jobs.made")
    with declarations_in() as found:
        exec(compile(code, "jobs/made.py", "exec"), module.__dict__)  # noqa: S102  the test's own code
    return [each.name for each in found]


def code_of(form: str, keys: dict[str, str]) -> str:
    given = ", ".join(f"{key}={value}" for key, value in keys.items())
    inner = ", ".join(f"'{key}': {value}" for key, value in keys.items())
    return "from sparkassets import asset, multi_asset\n\n\n" + form.format(given, inner=inner)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_what_is_read_is_taken_by_the_decorators(folder, data):
    form = data.draw(st.sampled_from(FORMS))
    used = [key for key in KEYS if f"{key}=" not in form]
    keys = data.draw(st.dictionaries(st.sampled_from(used), st.sampled_from(VALUES), max_size=3))
    code = code_of(form, keys)
    if is_read(folder, code):
        assert len(imported(code)) == 1, code


@pytest.mark.parametrize("key", KEYS)
def test_each_key_by_itself(folder, key):
    for value in some(VALUES, key):
        code = code_of(FORMS[1], {key: value})
        if is_read(folder, code):
            assert len(imported(code)) == 1, code


@pytest.mark.parametrize("outlets", ["{'a': {}, 'b': {}}", "['a', 'b']", "{'a': None}", "{}", "None", "3"])
@pytest.mark.parametrize(
    "form", ["@asset(outlets={})\ndef made(orders): ...", "asset('x', sql='SELECT 1 AS n', outlets={})"]
)
def test_several_outlets_of_asset_are_refused_when_they_are_read(folder, form, outlets):
    code = "from sparkassets import asset\n" + form.format(outlets)
    assert not is_read(folder, code)
    with pytest.raises(TypeError, match="several outlets are declared by @multi_asset"):
        imported(code)


def test_a_map_of_outlets_of_asset_is_refused_at_its_place(folder):
    code = "from sparkassets import asset\n\n@asset(outlets={'a': {}, 'b': {}})\ndef made(orders): ...\n"
    (folder / "jobs/made.py").write_text(code)
    with pytest.raises(SpecError) as error:
        load(folder / "conf", {})
    assert "jobs/made.py:3:16: several outlets are declared by @multi_asset\n" in str(error.value)
