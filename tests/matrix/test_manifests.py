"""What is written for Kubernetes and Databricks is what their published schemas allow, and a wrong key is not.

`make matrix ONLY=manifests` installs the schemas into an environment of its own; nothing here runs without. Kubernetes'
are those that kubeconform takes; Databricks' are the classes that it publishes for bundles in Python. Units of systemd
are verified by tests/features/deploy wherever it is installed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.projects import called, write
from tests.matrix.suites import environment_of

pytestmark = pytest.mark.skipif(environment_of("manifests") is None, reason="make matrix ONLY=manifests")

PROJECT = {
    "conf/project.yml": """
project: shop
profiles:
  dev: {state: {catalog: dev, schema: ops}, warehouse: "s3://dev/shop"}
  staging: {state: "s3://staging/state", warehouse: "s3://staging/shop"}
  prod: {state: "s3://lake/state", warehouse: "s3://lake/shop"}
profile: dev
""",
    "conf/assets/a.yml": "asset: one\nschedule: '@once'\nsql: SELECT 1 AS n\n",
}
READ_BUNDLE = """
import sys, yaml
from databricks.bundles.jobs import Job

jobs = yaml.safe_load(open(sys.argv[1]))["resources"]["jobs"]
for job in jobs.values():
    Job.from_dict(job)
"""


def written(folder: Path, kind: str, *options: str) -> Path:
    home = write(folder, PROJECT)
    done = called("deploy", kind, "--out", str(home / "out"), *options, cwd=home)
    assert done.returncode == 0, done.stderr
    return home / "out"


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", ["1.27", "1.37"])
@pytest.mark.parametrize(
    ("options", "file", "wrong"),
    [
        ((), "cronjob.yaml", ("backoffLimit", "backofLimit")),
        (("--loop", "60s"), "deployment.yaml", ("replicas", "replica")),
    ],
)
def test_kubernetes_takes_the_manifests(tmp_path, version, options, file, wrong):
    manifest = written(tmp_path, "kubernetes", *options) / file
    check = (environment_of("manifests") / "bin/kubernetes-validate", "--strict", "-k", version)
    done = run(*check, manifest)
    assert done.returncode == 0, done.stdout
    manifest.write_text(manifest.read_text().replace(*wrong))
    done = run(*check, manifest)
    assert done.returncode == 1
    assert wrong[1] in done.stdout


@pytest.mark.parametrize("options", [(), ("--loop", "60s"), ("--cluster", "17.3.x-scala2.13", "i3.xlarge")])
def test_databricks_takes_the_job_of_a_bundle(tmp_path, options):
    bundle = written(tmp_path, "databricks", *options) / "databricks.yml"
    check = (environment_of("manifests") / "bin/python", "-c", READ_BUNDLE)
    done = run(*check, bundle)
    assert done.returncode == 0, done.stderr
    bundle.write_text(bundle.read_text().replace("entry_point:", "entrypoint:"))
    assert "Unexpected field 'entrypoint'" in run(*check, bundle).stderr
