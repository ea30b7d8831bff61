"""The files of projects as they stand in docs/ are valid, and say all that a project and an inlet can."""

import ast
import re

import pytest
import sqlglot
import yaml

from sparkassets.core.spec.inlet_models import InletMap
from sparkassets.core.spec.project_models import ProjectFile
from sparkassets.project import load_project
from tests.documents import ROOT, code_blocks, page

(PROJECT,) = code_blocks("docs/project-file.md", "yaml")
CONCEPTS = sorted(f"docs/concepts/{path.name}" for path in (ROOT / "docs/concepts").glob("*.md"))
ORDERS = "asset: orders\nsource: csv\npath: landing/{day}.csv\npartition: {by: day, column: day}\n"


@pytest.fixture
def project(tmp_path):
    """Loads a project of these files beside a project file that allows functions of `jobs`."""

    def load_files(**files):
        (tmp_path / "project.yml").write_text("project: p\nassets: [.]\npython: [jobs]\n")
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return load_project(tmp_path, {}).assets

    return load_files


def test_the_project_file_is_valid_and_has_every_key(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/a.yml").write_text("asset: a\nsource: true\n")
    (tmp_path / "project.yml").write_text(PROJECT.text)
    assert load_project(tmp_path, {}).name == "shop"
    assert set(yaml.safe_load(PROJECT.text)) == set(ProjectFile.model_fields)


def test_every_key_of_an_inlet_is_among_the_gates():
    gates = page("docs/concepts/gates.md").partition("\n## The keys of an inlet\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+):", gates, flags=re.MULTILINE)) == set(InletMap.model_fields)


@pytest.mark.parametrize(
    "name", [*CONCEPTS, "docs/coming-from.md", "docs/every-instance.md", "docs/late-rows.md", "docs/sources.md"]
)
def test_assets_are_valid(name, project):
    for number, block in enumerate(each for each in code_blocks(name, "yaml") if each.text.startswith("asset:")):
        assert project(all_dot_yml=block.text), number


def test_code_of_other_tools_beside_an_asset_is_whole():
    python, sql = (code_blocks("docs/coming-from.md", language) for language in ("python", "sql"))
    defined = [ast.parse(block.text).body for block in python]
    assert [[each.name for each in body if isinstance(each, ast.FunctionDef)] for body in defined] == [
        ["weekly_revenue", "revenue_is_positive"],
        ["load_orders", "compute_revenue"],
    ]
    model = next(block.text for block in sql if block.text.startswith("MODEL"))
    query = sqlglot.parse_one(model.partition(");\n")[2].replace("@", ":"))
    assert query.named_selects == ["day", "revenue"]


def test_sources_of_each_kind(project):
    block, several = code_blocks("docs/sources.md", "yaml")
    assets = project(all_dot_yml=block.text)
    sources = {name: asset.source.kind for name, asset in assets.items() if asset.source}
    assert sources == {"orders": "csv", "customers": "delta", "prices": "events"}
    assert assets["price_loads"].strategy.name == "every_instance"
    assert project(all_dot_yml=several.text)["raw"].source.kind == "tables"


def test_sql_and_a_function(project):
    sql, _macros, _query = code_blocks("docs/functions.md", "sql")
    loads, scores = code_blocks("docs/functions.md", "yaml")
    function, rates = code_blocks("docs/functions.md", "python")
    columns = "columns: {id: bigint, amount: double, updated_at: timestamp}\n"
    files = {"loads_dot_yml": loads.text, "loads_dot_sql": sql.text, "jobs__scores_dot_py": function.text}
    daily = "asset: rates\nschedule: '@daily'\npython: jobs.rates:load\n"
    files |= {"jobs__rates_dot_py": rates.text, "rates_dot_yml": daily}
    assets = project(**files, scores_dot_yml=scores.text, orders_dot_yml=ORDERS + columns)
    assert assets["scores"].body.arguments == ("orders", "context")
    assert assets["rates"].body.arguments == ("context", "spark")
    assert list(assets["loads"].inlets) == ["orders"]


def test_a_job_is_adopted_in_steps(project):
    annotated, runs, statements, exported = code_blocks("docs/adopting.md", "yaml")
    _script, function = code_blocks("docs/adopting.md", "python")
    files = {"jobs__sales_dot_py": function.text, "jobs__export_dot_py": "def main():\n    pass\n"}
    orders = "asset: orders\nsource: true\npath: lake/orders\npartition: {by: day, column: day}\n"
    changes = "asset: changes\nsource: true\npath: lake/changes\n"
    first = project(all_dot_yml=annotated.text, **files)
    assert first["daily_sales"].runs_elsewhere
    texts = [runs.text, orders, statements.text, changes, exported.text]
    assets = project(all_dot_yml="---\n".join(texts), **files)
    own = [each for each in assets.values() if each.writes_itself]
    assert [
        (each.name, each.runs_elsewhere, each.is_known_by_events) for each in sorted(own, key=lambda each: each.name)
    ] == [
        ("customers", False, False),
        ("daily_sales", False, False),
        ("exported", False, True),
    ]


def test_the_asset_of_the_readme(project):
    lines = re.findall(r"^    (.*)$", page("README.md"), flags=re.MULTILINE)
    asset, sql = lines.index("# conf/assets/flights.yml"), lines.index("-- conf/assets/flights.sql")
    text = "\n".join(lines[asset:sql]) + "\n"
    partition = "partition: {by: day, column: flight_date}\n"
    landed = f"asset: flights_landed\nsource: csv\npath: landing/{{flight_date}}.csv\n{partition}"
    assets = project(flights_dot_yml=text, flights_dot_sql=lines[sql + 1], landed_dot_yml=landed)
    assert list(assets["flights"].inlets) == ["flights_landed"]
