"""The validations that stand in docs/validations.md are valid, and its table has every check and severity."""

import re
from typing import get_args

import pytest

from sparkassets.core.spec.rule_maps import CHECKS
from sparkassets.core.validations import Severity
from sparkassets.project import load_project
from tests.documents import code_blocks, page

PAGE = "docs/validations.md"
SHOPS = "asset: shops\nsource: csv\npath: shops.csv\ncolumns: {id: string}\n"
ORDERS, REPORT, *OWN = (each.text for each in code_blocks(PAGE, "yaml"))
FUNCTIONS, PACKAGE = (each.text for each in code_blocks(PAGE, "python"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Loads a project of these assets, with the functions of the page; its package is installed."""

    def load_rules(text):
        (tmp_path / "project.yml").write_text("project: p\nassets: [.]\npython: [jobs]\n")
        (tmp_path / "all.yml").write_text(text)
        for name in ("daily_orders", "daily_report", "a"):
            (tmp_path / f"{name}.sql").write_text("SELECT * FROM {{ inlets.given }}\n")
        (tmp_path / "daily_report.sql").write_text("SELECT * FROM {{ inlets.daily_orders }}\n")
        (tmp_path / "jobs").mkdir(exist_ok=True)
        (tmp_path / "jobs/checks.py").write_text(FUNCTIONS)
        info = tmp_path / "sparkassets_cuallee-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparkassets-cuallee\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            code_blocks(PAGE, "toml")[0].text.replace('"', "").replace("project.entry-points.", "")
        )
        (tmp_path / "sparkassets_cuallee.py").write_text(PACKAGE)
        monkeypatch.syspath_prepend(tmp_path)
        return load_project(tmp_path, {}).assets

    return load_rules


GIVEN = "asset: given\nsource: csv\npath: given/{day}.csv\npartition: {by: day, column: day}\n"


def test_the_first_asset_and_the_one_that_reads_it(project):
    assets = project(f"{SHOPS}---\n{GIVEN}---\n{ORDERS}---\n{REPORT}")
    orders = assets["daily_orders"]
    assert len(orders.rules) == 8
    assert (orders.private, set(orders.inlets)) == ({"email"}, {"given", "shops"})
    assert [rule.name for rule in assets["daily_report"].inlets["daily_orders"].rules] == [
        "row_count(min 1)",
        "not_null(shop)",
    ]


@pytest.mark.parametrize("text", OWN, ids=range(len(OWN)))
def test_checks_of_ones_own(text, project):
    rules = project(f"{GIVEN}---\nasset: a\n{text}")["a"].rules
    assert {rule.check.scope for rule in rules} <= {"row", "partition", "run"}
    assert rules


def test_every_check_and_severity_has_its_line():
    lines = set(re.findall(r"^\| `(\w+)[:`]", page(PAGE), flags=re.MULTILINE))
    assert lines == {*CHECKS, "check", "severity", *get_args(Severity)}
