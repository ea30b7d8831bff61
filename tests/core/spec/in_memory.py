"""Projects as dicts of files, compiled without a file system."""

from textwrap import dedent

import pytest

from sparkassets.core.entry_points import InstalledKinds
from sparkassets.core.spec.asset_file import read_asset_files
from sparkassets.core.spec.bodies import AssetCode, WantedSql, find_required_code
from sparkassets.core.spec.compilation import compile_project
from sparkassets.core.spec.project_file import read_project_file
from sparkassets.core.spec.yaml_document import SourceFile
from sparkassets.errors import SpecError

FLIGHTS = """
asset: flights
source: csv
path: landing/flights/{day}.csv
partition: {by: day, column: day}
"""


def compiled(files, env=None, tables=None, **installed):
    """The model of a project: `files` by path, a plain project file where there is none."""
    read = {path: SourceFile(path, path, dedent(text).lstrip("\n")) for path, text in files.items()}
    file = read.get("project.yml") or SourceFile("project.yml", "project.yml", "project: shop\n")
    project = read_project_file(file, root="/shop", environment=env or {}, installed=InstalledKinds(**installed))
    asset_files = [each for path, each in read.items() if path.endswith(".yml") and path != "project.yml"]
    assets = read_asset_files(asset_files, project=project)
    wants = [find_required_code(draft, project) for draft in assets.drafts.values()]
    paths = [path for want in wants if isinstance(want, WantedSql) for path in want.paths]
    sql = {path: read[path] for path in paths if path in read}
    return compile_project(project, assets, AssetCode(sql, {}), tables=tables)


def one(text, *, sql="SELECT 1", env=None, name="a", **more):
    """The compiled asset of one YAML text, beside a source `flights`."""
    files = {"a.yml": text, "a.sql": sql, "flights.yml": FLIGHTS, **more}
    return compiled(files, env).assets[name]


def errors(files, env=None, **more):
    """The text of the error that a project is refused with."""
    with pytest.raises(SpecError) as error:
        compiled(files, env, **more)
    return str(error.value)


def errors_of(text, *, sql="SELECT 1", env=None, **more):
    """The text of the error that one asset is refused with, beside a source `flights`."""
    return errors({"a.yml": text, "a.sql": sql, "flights.yml": FLIGHTS, **more}, env)
