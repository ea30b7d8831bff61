"""The example of a package, jobs/payday, as if it were installed."""

import sys
import tomllib

from tests.documents import ROOT

SOURCE = ROOT / "jobs/payday"


def install_example(folder, monkeypatch):
    """Puts the package on the path, with the entry points of its pyproject.toml in a folder of installed packages."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    info = folder / f"packages/{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups)
    )
    for module in ("payday", "payroll"):
        (folder / f"packages/{module}.py").write_text((SOURCE / f"{module}.py").read_text())
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(folder / "packages")
