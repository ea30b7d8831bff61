"""The modules of docs/assets-in-python.md are projects, and its table says the same twice."""

import re

import pytest

from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.project import load_project
from tests.documents import code_blocks, page

PAGE = "docs/assets-in-python.md"
FIRST, MODELS, CHECKED, SPLIT, SECOND = (each.text for each in code_blocks(PAGE, "python"))


@pytest.fixture
def loaded(tmp_path):
    def load_modules(**modules: str) -> ProjectSpec:
        (tmp_path / "project.yml").write_text("project: shop\npython: [jobs]\n")
        (tmp_path / "jobs").mkdir()
        for name, text in modules.items():
            (tmp_path / f"jobs/{name}.py").write_text(text)
        return load_project(tmp_path, {})

    return load_modules


def test_the_modules_are_a_project(loaded):
    project = loaded(sales=FIRST, checked=CHECKED, splits=SPLIT, regions=SECOND)
    own = ["best_day", "checked", "days", "orders", "revenue", "sales_de", "sales_nl"]
    assert sorted(project.assets) == sorted([*own, "split", "train", "test"])
    assert project.assets["best_day"].schedule.text == "revenue & @daily | x-drop://inbox"


def test_customers_are_discovered(loaded):
    readings = 'from sparkassets import asset\nasset("readings", source="csv", at="readings/*.csv")\n'
    project = loaded(readings=readings, models=MODELS)
    assert project.assets["energy_model"].partitioning.open_columns == ("customer",)


def test_partitions_are_those_of_yaml(loaded):
    rows = re.findall(r"^\| `(Partition\w+\(.*?\))`.*\| `(\{.*\})` \|$", page(PAGE), flags=re.MULTILINE)
    assert len(rows) == 3
    names = ", ".join(f"p{number}" for number in range(len(rows)))
    code = ["from sparkassets import PartitionAtRuntime, PartitionByInterval, PartitionBySequence, asset"]
    for number, (python, _) in enumerate(rows):
        code.append(f"@asset('p{number}', partition={python})\ndef f{number}(): ...")
    project = loaded(made="\n".join(code))
    assert ", ".join(sorted(project.assets)) == names
    said = [each.partitioning for each in project.assets.values()]
    assert [each.time is not None for each in said] == [True, False, False]
