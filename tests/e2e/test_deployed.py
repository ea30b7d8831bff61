"""The wheel that `deploy` writes starts the project as Databricks calls it; the line of cron is in test_wheel."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.e2e.projects import ORDERS, called, document, environment, rows

ENTRY = """
import sys
from importlib.metadata import distribution
package, name, *sys.argv[1:] = sys.argv[1:]
(entry,) = [each for each in distribution(package).entry_points if each.name == name]
entry.load()()
"""
"""How a wheel task starts: by the entry point of the installed package."""
PROFILES = """
profiles:
  dev: {state: HOME/dev/state, warehouse: HOME/dev/tables, variables: {LAKE: HOME/landing}}
  prod: {state: HOME/prod/state, warehouse: HOME/prod/tables, variables: {LAKE: HOME/landing}}
"""


@pytest.fixture
def installed(tmp_path):
    """The Python of an environment that holds the project's wheel, where no file of the project is left."""
    home = tmp_path / "home"
    home.mkdir()
    assert called("init", cwd=home).returncode == 0
    conf = home / "conf"
    (conf / "landing").rename(tmp_path / "landing")
    text = (conf / "project.yml").read_text().replace("state: ./state", "").replace("warehouse: ./warehouse", "")
    (conf / "project.yml").write_text(text + PROFILES.replace("HOME", str(tmp_path)) + "profile: dev\n")
    source = conf / "assets/orders.yml"
    source.write_text(source.read_text().replace("path: landing", "path: ${LAKE}"))
    done = called("deploy", "databricks", "--out", str(tmp_path / "bundle"), cwd=home)
    assert done.returncode == 0, done.stderr
    home.rename(tmp_path / "gone")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True, capture_output=True)
    python = tmp_path / "env/bin/python"
    (wheel,) = (tmp_path / "bundle/dist").iterdir()
    install = [python, "-m", "pip", "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run(install, env=environment(), check=True, capture_output=True)
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    repository = Path(__file__).parents[2]
    Path(packages, "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n{repository}\n", "utf-8")
    return python


@pytest.mark.spark
@pytest.mark.deep
def test_the_wheel_runs_as_a_task_calls_it(installed, tmp_path):
    task = yaml.safe_load((tmp_path / "bundle/databricks.yml").read_text())["resources"]["jobs"]["shop"]["tasks"][0]
    wheel = task["python_wheel_task"]
    given = [each.replace("${bundle.target}", "prod") for each in wheel["parameters"]]

    def call(*arguments):
        command = [installed, "-c", ENTRY, wheel["package_name"], wheel["entry_point"], *arguments]
        return subprocess.run(command, cwd="/", env=environment(), capture_output=True, text=True, check=False)

    (due,) = document(call("plan", "--json", "--profile", "prod"))["runs"]
    assert due["asset"] == "daily_revenue"
    done = call(*given)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "prod/tables/best_shops", "shop", "orders") == ORDERS
    assert not (tmp_path / "dev").exists()
    assert call("plan", "{{job.parameters.x}}").returncode == 2
