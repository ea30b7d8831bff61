"""The files of a project as they stand in the README are valid, and say all that an inlet can."""

import re
from pathlib import Path

from sparkassets.core.spec.files import InletMap, ProjectFile
from sparkassets.project import load

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("\n## The files of a project\n")[2].partition("\n## ")[0]
PROJECT, ASSETS = re.findall(r"```yaml\n(.*?)```", SECTION, flags=re.DOTALL)


def test_they_are_valid(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "project.yml").write_text(PROJECT)
    (tmp_path / "assets/all.yml").write_text(ASSETS)
    assets = load(tmp_path, {}).assets
    sources = {name: asset.source.kind for name, asset in assets.items() if asset.source}
    assert sources == {"orders": "csv", "customers": "delta", "prices": "events"}
    assert assets["price_loads"].strategy.name == "every_instance"


def test_every_key_of_the_project_and_of_an_inlet_is_there():
    assert set(re.findall(r"^(\w+):", PROJECT, flags=re.MULTILINE)) == set(ProjectFile.model_fields)
    assert set(re.findall(r"^\| `(\w+):", SECTION, flags=re.MULTILINE)) == set(InletMap.model_fields)
