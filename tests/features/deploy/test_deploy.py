"""`sparkassets deploy`: files by kind of place, checked by what reads them there.

The published schemas are compared with where they are: ``DATABRICKS_BUNDLE_SCHEMA`` names the CLI's
``bundle/schema/jsonschema.json``, ``KUBERNETES_OPENAPI`` Kubernetes' ``api/openapi-spec/swagger.json``.
"""

import ast
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import zipfile
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

import pytest
import yaml
from croniter import croniter
from jsonschema import Draft202012Validator

from sparkassets.cli import main

PROFILES = """project: shop
assets: [assets/]
timezone: Europe/Berlin
profile: dev
profiles:
  prod: {state: "s3://lake/state", warehouse: "s3://lake/shop", variables: {FROM: /Volumes/main/raw/in}}
  dev: {state: {catalog: dev, schema: ops}, warehouse: "s3://dev/shop", variables: {FROM: "s3://dev/in"}}
"""
ASSETS = """asset: orders
source: csv
path: ${FROM}/{day}.csv
partition: {by: day, column: day}
---
asset: revenue
sql: SELECT count(*) AS n FROM {{ inlets.orders }}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with two profiles, and a package beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    conf = tmp_path / "home" / "conf"
    (conf / "assets").mkdir(parents=True)
    (conf / "project.yml").write_text(PROFILES + "python: [jobs]\n")
    (conf / "assets/shop.yml").write_text(ASSETS)
    (conf / ".env").write_text("SECRET=1")
    (conf / "state").mkdir()
    (conf / "state/data").write_text("no part of it")
    (tmp_path / "home/jobs/__pycache__").mkdir(parents=True)
    (tmp_path / "home/jobs/__pycache__/x.pyc").write_bytes(b"x")
    (tmp_path / "home/jobs/rates.py").write_text("RATE = 2\n")
    (tmp_path / "home/jobs/rates.csv").write_text("a,b\n")
    return conf


@pytest.fixture
def deploy(project, tmp_path, capsys):
    """Deploys: (exit code, stdout, stderr, the folder)."""

    def run(kind, *args):
        out = tmp_path / "out"
        code = main(["deploy", kind, "--project", str(project), "--out", str(out), *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err, out

    return run


def bundle(out):
    return yaml.safe_load((out / "databricks.yml").read_text())


def test_a_bundle_has_a_target_for_each_profile_and_a_wheel_task(deploy):
    code, told, err, out = deploy("databricks", "--cron", "30 6 * * MON-FRI", "--select", "revenue", "--group", "data")
    assert (code, err) == (0, "")
    assert "databricks bundle validate -t dev" in told
    job = bundle(out)["resources"]["jobs"]["shop"]
    assert job["schedule"] == {
        "quartz_cron_expression": "0 30 6 ? * MON,TUE,WED,THU,FRI",
        "timezone_id": "Europe/Berlin",
        "pause_status": "UNPAUSED",
    }
    (wheel,) = (out / "dist").iterdir()
    assert job["environments"][0]["spec"]["dependencies"] == [f"./dist/{wheel.name}"]
    (task,) = job["tasks"]
    assert task["python_wheel_task"] == {
        "package_name": "shop_sparkassets",
        "entry_point": "sparkassets-shop",
        "parameters": ["run", "--select", "revenue", "--profile", "${bundle.target}"],
    }
    targets = bundle(out)["targets"]
    assert list(targets) == ["dev", "prod"]
    assert (targets["dev"]["mode"], targets["dev"]["default"], targets["prod"]["mode"]) == (
        "development",
        True,
        "production",
    )
    assert "default" not in targets["prod"]
    assert {"level": "CAN_RUN", "group_name": "data"} in targets["prod"]["permissions"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--loop", "60s"),
        ("--cluster", "17.3.x-scala2.13", "i3.xlarge"),
        ("--environment", "5"),
        ("--group", "a b"),
        ("--set", "FROM=s3://x/y"),
    ],
)
def test_bundles_are_what_the_published_schema_allows(deploy, options):
    assert deploy("databricks", *options)[0] == 0
    written = bundle(deploy("databricks", *options)[3])
    job = written["resources"]["jobs"]["shop"]
    assert ("continuous" in job) != ("schedule" in job)
    assert ("job_clusters" in job) != ("environments" in job)
    if "environments" in job:
        assert job["environments"][0]["spec"]["environment_version"] == ("5" if "--environment" in options else "4")
    if path := os.environ.get("DATABRICKS_BUNDLE_SCHEMA"):
        text = (
            Path(path).read_text().replace(r"[\\p{L}\\p{N}]", r"\\w").replace(r"\\p{L}", "[a-zA-Z]")
        )  # as Python has it
        schema = json.loads(text)
        assert not list(Draft202012Validator(schema).iter_errors(written))
        written["resources"]["jobs"]["shop"]["tasks"][0]["python_wheel_task"]["entrypoint"] = "x"
        assert list(Draft202012Validator(schema).iter_errors(written))


@pytest.mark.parametrize("runtime", ["15.4.x-scala2.12", "16.4.x-scala2.12", "17.3.x-scala2.13", "custom:x"])
def test_a_runtime_that_has_the_python_is_taken(deploy, runtime):
    out = deploy("databricks", "--cluster", runtime, "i3.xlarge")[3]
    cluster = bundle(out)["resources"]["jobs"]["shop"]["job_clusters"][0]["new_cluster"]
    assert cluster["spark_version"] == runtime


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cluster", "14.3.x-scala2.12", "m5"), "--cluster 14.3.x-scala2.12: its Python is older than 3.11"),
        (("--cluster", "9.1.x-scala2.12", "m5"), "--cluster 9.1.x-scala2.12: its Python is older than 3.11"),
        (("--environment", "1"), "--environment 1: its Python is older than 3.11"),
        (("--environment", "four"), "'four' is not a valid integer"),
    ],
)
def test_a_runtime_whose_python_is_too_old_is_refused(deploy, options, told):
    code, _, err, out = deploy("databricks", *options)
    assert (code, out.exists()) == (2, False)
    assert told in err


CHANGES = """---
asset: landed
source: delta
path: ${FROM}/landed
---
asset: people
inlets: {landed: {read: changes}}
write: {upsert: {keys: [id]}}
sql: SELECT id FROM {{ inlets.landed }}
"""


@pytest.mark.parametrize(
    ("assets", "told"),
    [
        (CHANGES, "asset 'people' is merged by keys, which serverless compute does not allow"),
        ("spark_conf: {spark.sql.x: y}\n", "asset 'revenue' has 'spark_conf', which serverless compute does not allow"),
    ],
)
def test_what_no_serverless_session_can_do_is_refused_without_a_cluster(deploy, project, assets, told):
    (project / "assets/shop.yml").write_text(ASSETS + assets)
    code, _, err, out = deploy("databricks")
    assert (code, told in err, out.exists()) == (2, True, False), err
    assert deploy("databricks", "--cluster", "17.3.x-scala2.13", "m5")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"s3://lake/state"', "/Volumes/main/ops/shop", "the state under profile 'prod' is on a volume (/Volumes/"),
        ('"s3://lake/shop"', "/dbfs/shop", "asset 'revenue' under profile 'prod' is on a volume (/dbfs/shop/revenue)"),
    ],
)
def test_what_the_driver_commits_cannot_be_on_a_volume(deploy, project, old, new, told):
    (project / "project.yml").write_text(PROFILES.replace(old, new))
    code, _, err, out = deploy("databricks")
    assert (code, told in err, out.exists()) == (2, True, False), err
    by_spark = ASSETS.replace("asset: revenue\n", "asset: revenue\ncommit: spark\n")
    (project / "assets/shop.yml").write_text(by_spark)
    assert deploy("databricks")[0] == (2 if "state" in old else 0)


def test_the_wheel_holds_the_project_and_what_is_beside_it(deploy):
    out = deploy("databricks")[3]
    (wheel,) = (out / "dist").iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name.removeprefix("shop_sparkassets/files/") for name in names if "/files/" in name}
    assert inside == {"conf/project.yml", "conf/assets/shop.yml", "jobs/rates.py", "jobs/rates.csv"}


def test_the_wheel_has_a_new_version_whenever_the_project_changed_and_only_then(deploy, project):
    out = deploy("databricks")[3]
    first = {path.name for path in (out / "dist").iterdir()}
    assert "unchanged" in deploy("databricks")[1]
    assert {path.name for path in (out / "dist").iterdir()} == first
    (project.parent / "jobs/rates.py").write_text("RATE = 3\n")
    code, told, _, _ = deploy("databricks")
    assert code == 0
    assert f"removed {out}/dist/{first.copy().pop()}" in told
    assert {path.name for path in (out / "dist").iterdir()}.isdisjoint(first)


def test_the_entry_point_of_the_wheel_is_a_command_on_the_project(deploy, project, tmp_path):
    out = deploy("databricks")[3]
    (wheel,) = (out / "dist").iterdir()
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    project.parent.rename(tmp_path / "gone")
    code = (
        "import sys; from importlib.metadata import distribution as found\n"
        "(entry,) = found('shop_sparkassets').entry_points; assert entry.name == 'sparkassets-shop'; entry.load()()"
    )
    repository = Path(__file__).parents[3]
    known = {**os.environ, "PYTHONPATH": f"{tmp_path / 'installed'}:{repository}"}

    def call(*arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, check=False, cwd="/", env=known, capture_output=True, text=True)

    done = call("validate", "--profile", "prod")
    assert (done.returncode, done.stdout) == (0, "project 'shop' is valid: 1 asset, 1 source\n"), done.stderr
    assert call("validate", "--profile", "pord").returncode == 2
    assert call("plan", "{{job.parameters.x}}").returncode == 2


LOCAL = PROFILES.replace("{catalog: dev, schema: ops}", "./state")


def test_a_profile_whose_tables_are_on_this_machine_has_no_target(deploy, project):
    (project / "project.yml").write_text(LOCAL)
    code, told, _, out = deploy("databricks")
    assert code == 0
    assert "unknown target 'dev': the state under profile 'dev' is in the project's folder (state)" in told
    assert bundle(out)["targets"].keys() == {"prod"}
    assert bundle(out)["targets"]["prod"]["default"] is True
    assert json.loads(deploy("databricks", "--json")[1])["left_out"][0].startswith("unknown target 'dev': ")


def test_the_profile_that_is_asked_for_is_the_only_target(deploy, project):
    assert bundle(deploy("databricks", "--profile", "prod")[3])["targets"].keys() == {"prod"}
    (project / "project.yml").write_text(LOCAL)
    assert deploy("databricks", "--profile", "prod")[0] == 0
    code, _, err, _ = deploy("databricks", "--profile", "dev")
    assert code == 2
    assert "the state under profile 'dev' is in the project's folder (state), but the deployment runs elsewhere" in err


def test_what_would_be_lost_with_the_job_is_refused(deploy, project):
    (project / "project.yml").write_text(LOCAL.replace("/Volumes/main/raw/in", "in"))
    code, _, err, out = deploy("databricks")
    assert code == 2
    assert "the state under profile 'dev' is in the project's folder (state), but the deployment runs elsewhere" in err
    assert not out.exists()
    assert "asset 'orders' under profile 'prod' is in" in deploy("databricks", "--profile", "prod")[2]


def test_a_bundle_takes_nothing_from_the_environment(deploy, project, monkeypatch):
    monkeypatch.setenv("LAKE", "s3://secret-lake")
    (project / "assets/shop.yml").write_text(ASSETS.replace("${FROM}", "${LAKE}"))
    code, _, err, _ = deploy("databricks")
    assert code == 2
    assert "profile 'dev' takes LAKE from the environment, which tasks do not have" in err
    assert "secret-lake" not in err
    code, _, _, out = deploy("databricks", "--set", "LAKE=s3://a")
    assert code == 0
    task = bundle(out)["resources"]["jobs"]["shop"]["tasks"][0]
    assert task["python_wheel_task"]["parameters"][1:3] == ["--set", "LAKE=s3://a"]
    monkeypatch.delenv("LAKE")
    assert deploy("databricks", "--set", "LAKE=s3://a", "--force")[0] == 0


def test_a_bundle_needs_profiles(deploy, project):
    (project / "project.yml").write_text("project: shop\nassets: [assets/]\n")
    assert "the project has no `profiles`" in deploy("databricks", "--set", "FROM=s3://x")[2]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cron", "x"), "expected five"),
        (("--cron", "0 0 1 * MON"), "which Quartz cannot express"),
        (("--timezone", "Mars/North"), "Mars/North"),
        (("--loop", "soon"), "soon"),
        (("--select", "revenu"), "did you mean 'revenue'?"),
        (("--set", "FORM=x"), "the project does not use ${FORM}"),
        (("--profile", "x"), "unknown profile 'x'"),
    ],
)
def test_arguments_are_checked_before_anything_is_written(deploy, options, told):
    code, _, err, out = deploy("databricks", *options)
    assert code == 2
    assert told in err
    assert not out.exists()


def test_no_credential_is_written(deploy):
    code, _, err, out = deploy("cron", "--set", "FROM=s3://user:hunter22@host/x")
    assert code == 2
    assert "hunter22" not in err
    assert not out.exists()


def read_dag(text):
    """The constants of a DAG file, and the arguments of its tasks by their names."""
    tree = ast.parse(text)
    compile(tree, "dag.py", "exec")
    constants, tasks = {}, {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and each.targets[0].id in ("COMMAND", "OPTIONS", "ENVIRONMENT", "STAGES"):
            constants[each.targets[0].id] = ast.literal_eval(each.value)
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "run":
            name, *arguments = map(ast.literal_eval, each.args)
            tasks[name] = arguments
    return constants, tasks


def test_a_dag_is_python_of_one_task(deploy, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    code, told, _, out = deploy("airflow", "--profile", "prod", "--select", "revenue")
    assert code == 0
    assert "cp " in told
    text = (out / "shop_prod.py").read_text()
    constants, tasks = read_dag(text)
    assert constants["COMMAND"][1:] == ["-m", "sparkassets"]
    assert constants["OPTIONS"][-2:] == ["--profile", "prod"]
    assert constants["ENVIRONMENT"] == {"JAVA_HOME": "/opt/java"}
    assert tasks == {"run": ["--select", "revenue"]}
    assert "execution_timeout=pendulum.duration(seconds=86400)" in text
    assert croniter.is_valid(re.search(r'schedule="(.*)"', text)[1])
    assert f'"{out.parent}/' not in text.partition("WRITTEN")[2]  # other DAGs know no path of this machine


CHAIN = """---
asset: weekly
inlets: [revenue]
schedule: revenue
sql: SELECT * FROM {{ inlets.revenue }}
---
asset: prices
source: true
uri: kafka://prices
---
asset: priced
inlets: [weekly, revenue]
schedule: {all: [weekly, prices]}
sql: SELECT * FROM {{ inlets.weekly }}
"""


def test_a_task_for_each_asset_follows_the_tasks_of_what_it_reads(deploy, project):
    (project / "assets/shop.yml").write_text(ASSETS + CHAIN)
    code, _, err, out = deploy("airflow", "--tasks", "assets")
    assert code == 0, err
    text = (out / "shop_dev.py").read_text()
    assert read_dag(text)[1] == {name: ["--select", name] for name in ("revenue", "weekly", "priced")}
    assert '[tasks["revenue"]] >> tasks["weekly"]' in text
    assert '[tasks["weekly"], tasks["revenue"]] >> tasks["priced"]' in text
    text = (deploy("airflow", "--tasks", "assets", "--select", "revenue,priced")[3] / "shop_dev.py").read_text()
    assert '[tasks["revenue"]] >> tasks["priced"]' in text  # also by way of what is left out


def test_a_task_for_each_folder_runs_its_assets_after_those_of_what_they_read(deploy, project):
    for folder, text in (("shop", ASSETS), ("reports/weekly", CHAIN)):
        (project / "assets" / folder).mkdir(parents=True)
        (project / "assets" / folder / "all.yml").write_text(text)
    (project / "assets/shop.yml").unlink()
    code, _, err, out = deploy("airflow", "--tasks", "folders")
    assert code == 0, err
    text = (out / "shop_dev.py").read_text()
    tasks = read_dag(text)[1]
    assert tasks == {
        "assets.shop": ["--select", "revenue"],
        "assets.reports.weekly": ["--select", "weekly,priced"],
    }
    assert '[tasks["assets.shop"]] >> tasks["assets.reports.weekly"]' in text
    back = "---\nasset: back\ninlets: [priced]\nschedule: priced\nsql: SELECT * FROM {{ inlets.priced }}\n"
    (project / "assets/shop/all.yml").write_text(ASSETS + back)
    code, _, err, _ = deploy("airflow", "--tasks", "folders")
    assert (code, "read each other" in err) == (2, True), err


def test_tasks_of_a_plan_are_made_in_stages_in_which_each_asset_comes_after_what_it_follows(deploy, project):
    (project / "assets/shop.yml").write_text(ASSETS + CHAIN + "---\nasset: alone\nschedule: '@daily'\nsql: SELECT 1\n")
    code, _, err, out = deploy("airflow", "--tasks", "due", "--on", "prices")
    assert code == 0, err
    constants, tasks = read_dag((out / "shop_dev.py").read_text())
    assert constants["STAGES"] == [["alone", "revenue"], ["weekly"], ["priced"]]
    assert tasks == {}
    text = (deploy("airflow", "--tasks", "due", "--select", "revenue,priced")[3] / "shop_dev.py").read_text()
    assert read_dag(text)[0]["STAGES"] == [["revenue"], ["priced"]]


def test_a_dag_may_start_by_events_of_others_alone(deploy, project):
    (project / "assets/shop.yml").write_text(ASSETS + CHAIN)
    code, _, err, out = deploy("airflow", "--on", "prices", "--on", "s3://lake/x")
    assert code == 0, err
    text = (out / "shop_dev.py").read_text()
    read_dag(text)
    assert "AWAITED = {" in text
    assert '    "kafka://prices": Asset("kafka://prices"),' in text
    assert "CronTriggerTimetable" in text
    for target, told in (("weekly", "--on weekly: the DAG computes it"), ("price", "did you mean 'prices'?")):
        code, _, err, _ = deploy("airflow", "--on", target)
        assert (code, told in err) == (2, True), err


@pytest.mark.parametrize("kind", ["airflow", "cron"])
def test_what_ends_cannot_loop(deploy, kind):
    code, _, err, _ = deploy(kind, "--loop", "60s")
    assert code == 2
    assert "--loop: " in err


@pytest.mark.parametrize(
    ("options", "name", "api"), [((), "cronjob.yaml", "batch"), (("--loop", "60s"), "deployment.yaml", "apps")]
)
def test_kubernetes_starts_the_image_of_the_dockerfile(deploy, options, name, api):
    code, told, _, out = deploy("kubernetes", *options)
    assert code == 0, told
    written = yaml.safe_load((out / name).read_text())
    spec = written["spec"] if api == "apps" else written["spec"]["jobTemplate"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] in told
    assert container["args"] == ["run", *options, "--profile", "dev"]
    (wheel,) = (out / "dist").iterdir()
    docker = (out / "Dockerfile").read_text()
    assert wheel.name in docker
    assert 'ENTRYPOINT ["sparkassets-shop"]' in docker
    if api == "batch":
        assert written["spec"]["timeZone"] == "Europe/Berlin"
        assert croniter.is_valid(written["spec"]["schedule"])
    if path := os.environ.get("KUBERNETES_OPENAPI"):
        document = _strict(json.loads(Path(path).read_text()))
        schema = {
            "$ref": f"#/definitions/io.k8s.api.{api}.v1.{written['kind']}",
            "definitions": document["definitions"],
        }
        assert not list(Draft202012Validator(schema).iter_errors(written))
        written["spec"]["timezone"] = "UTC"
        assert list(Draft202012Validator(schema).iter_errors(written))


def _strict(schema):
    """A schema of the API in which unknown keys are errors."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items()}
    if isinstance(found.get("properties"), dict) and "type" in found:
        found.setdefault("additionalProperties", False)
    return found


def test_a_loop_in_kubernetes_leaves_no_cronjob_behind(deploy):
    out = deploy("kubernetes")[3]
    assert "removed" in deploy("kubernetes", "--loop", "60s")[1]
    assert not (out / "cronjob.yaml").exists()


def test_a_named_schedule_is_the_cron_that_it_stands_for(deploy):
    assert deploy("cron", "--cron", "@quarterly")[0] == 0
    assert (deploy("cron", "--cron", "@daily")[3] / "crontab").read_text().splitlines()[-1].startswith("0 0 * * * ")


def test_the_line_of_cron_starts_a_script(deploy, tmp_path):
    code, told, _, out = deploy("cron", "--cron", "*/5 * * * *")
    assert code == 0
    line = (out / "crontab").read_text().splitlines()[-1]
    assert croniter.is_valid(" ".join(line.split()[:5]))
    assert line.split()[5] == str(out / "shop_dev.sh")
    assert (out / "shop_dev.sh").stat().st_mode & stat.S_IXUSR
    assert "crontab -" in told
    assert subprocess.run(["sh", "-n", out / "shop_dev.sh"], check=False).returncode == 0


def test_a_script_says_which_variable_it_lacks(deploy, project, monkeypatch):
    monkeypatch.setenv("LAKE", "s3://hidden")
    (project / "assets/shop.yml").write_text(ASSETS.replace("${FROM}", "${LAKE}"))
    out = deploy("cron")[3]
    assert "hidden" not in (out / "shop_dev.sh").read_text()
    ended = subprocess.run(
        [out / "shop_dev.sh"], check=False, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert ended.returncode != 0
    assert "LAKE: the project needs it" in ended.stderr


@pytest.mark.parametrize("options", [(), ("--loop", "60s")])
def test_units_are_what_systemd_reads(deploy, options):
    code, _, _, out = deploy("systemd", *options)
    assert code == 0
    units = sorted(path.name for path in out.glob("sparkassets-*"))
    assert units == (
        ["sparkassets-shop-dev.service"] if options else ["sparkassets-shop-dev.service", "sparkassets-shop-dev.timer"]
    )
    if shutil.which("systemd-analyze"):
        command = ["systemd-analyze", "verify", "--user", "--man=no", *(out / each for each in units)]
        ended = subprocess.run(
            command, check=False, capture_output=True, text=True, env={**os.environ, "XDG_RUNTIME_DIR": str(out)}
        )
        about = [line for line in ended.stderr.splitlines() if "sparkassets-" in line]
        assert about == []


HOSTILE = "a b\nExecStartPre=x \"q\" 'q' \\ 100% $HOME $(HOME) ; \u2028 ü"
"""A value of which every place takes some of the characters for its own."""


@pytest.fixture
def noted(project, deploy):
    """Deploys a project that names ${NOTE}."""
    (project / "assets/shop.yml").write_text(ASSETS + 'extra: {note: "${NOTE}"}\n')
    return deploy


def test_a_value_arrives_in_kubernetes_as_it_was_given(noted):
    out = noted("kubernetes", "--set", f"NOTE={HOSTILE}")[3]
    spec = yaml.safe_load((out / "cronjob.yaml").read_text())["spec"]["jobTemplate"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["args"][2].replace("$$", "$") == f"NOTE={HOSTILE}"  # an odd $ is none of a pair
    assert not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", container["args"][2])


def test_a_value_arrives_in_a_bundle_as_it_was_given(noted):
    out = noted("databricks", "--set", f"NOTE={HOSTILE}", "--cluster", "17.3: x", "#1")[3]
    job = bundle(out)["resources"]["jobs"]["shop"]
    assert job["tasks"][0]["python_wheel_task"]["parameters"][2] == f"NOTE={HOSTILE}"
    cluster = job["job_clusters"][0]["new_cluster"]
    assert (cluster["spark_version"], cluster["node_type_id"]) == ("17.3: x", "#1")


@pytest.mark.parametrize("kind", ["cron", "airflow"])
def test_a_value_arrives_by_the_shell_as_it_was_given(noted, monkeypatch, tmp_path, kind):
    monkeypatch.setattr("sys.executable", str(tmp_path / "told"))
    (tmp_path / "told").write_text('#!/bin/sh\nfor each; do printf "%s\\0" "$each"; done\n')
    (tmp_path / "told").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", '/opt/a $(false) `x` "j')
    out = noted(kind, "--set", f"NOTE={HOSTILE}")[3]
    if kind == "cron":
        text = (out / "shop_dev.sh").read_text()
    else:
        constants, tasks = read_dag((out / "shop_dev.py").read_text())
        text = shlex.join([*constants["COMMAND"], "run", *tasks["run"], *constants["OPTIONS"]])
    ended = subprocess.run(["sh", "-c", text], check=False, capture_output=True, text=True)
    assert ended.stderr == ""
    said = (out / "shop_dev.log").read_text() if kind == "cron" else ended.stdout
    assert f"NOTE={HOSTILE}" in said.split("\0")


def test_a_value_is_one_word_of_a_unit(noted, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", '/opt/50%/"j"')
    out = noted("systemd", "--set", f"NOTE={HOSTILE}")[3]
    text = (out / "sparkassets-shop-dev.service").read_text()
    assert [line.partition("=")[0] for line in text.splitlines() if line.startswith("Exec")] == ["ExecStart"]
    word = r'"NOTE=a b\x0aExecStartPre=x \"q\" ' "'q'" r' \\ 100%% $$HOME $$(HOME) ; \xe2\x80\xa8 ü"'
    assert word in text
    assert 'Environment="JAVA_HOME=/opt/50%%/\\"j\\""\n' in text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("databricks", "${bundle.name}"),
        ("airflow", "{# x"),
        ("airflow", "{% x"),
    ],
)
def test_what_would_be_filled_in_there_is_refused(noted, kind, value):
    code, _, err, out = noted(kind, "--set", f"NOTE={value}")
    assert code == 2
    assert f"substitutes {value[:2]} in arguments: NOTE=" in err
    assert not out.exists()


def test_a_cron_is_written_in_a_line(deploy):
    out = deploy("cron", "--cron", "0 6\n* *  *")[3]
    assert (out / "crontab").read_text().splitlines()[-1].startswith("0 6 * * * /")


def test_a_path_with_a_line_break_is_refused(project, tmp_path, capsys):
    assert main(["deploy", "cron", "--project", str(project), "--out", str(tmp_path / "a\nb")]) == 2
    assert "contains a control character" in capsys.readouterr().err


def test_a_file_that_was_changed_by_hand_is_not_written_over(deploy):
    out = deploy("airflow")[3]
    (out / "shop_dev.py").write_text("# mine\n")
    code, _, err, _ = deploy("airflow")
    assert code == 2
    assert "shop_dev.py" in err
    assert "was changed by hand; nothing was written" in err
    assert (out / "shop_dev.py").read_text() == "# mine\n"
    assert deploy("airflow", "--force")[0] == 0
    assert "# mine" not in (out / "shop_dev.py").read_text()


def test_json_tells_what_was_written_and_what_comes_next(deploy):
    _, told, _, out = deploy("airflow", "--json")
    document = json.loads(told)
    assert document["folder"] == str(out)
    assert document["written"] == ["shop_dev.py"]
    assert len(document["next"]) == 1


def test_a_wheel_of_sparkassets_goes_with_it(deploy, tmp_path):
    library = tmp_path / "sparkassets-9-py3-none-any.whl"
    library.write_bytes(b"x")
    out = deploy("databricks", "--library", str(library))[3]
    spec = bundle(out)["resources"]["jobs"]["shop"]["environments"][0]["spec"]
    assert spec["dependencies"][0] == f"./dist/{library.name}"
    own = next(path for path in (out / "dist").iterdir() if path.name.startswith("shop"))
    archive = zipfile.ZipFile(BytesIO(own.read_bytes()))
    metadata = archive.read(next(each for each in archive.namelist() if each.endswith("METADATA"))).decode()
    assert re.search(r"^Requires-Dist: sparkassets$", metadata, flags=re.MULTILINE)


def metadata_of(out):
    """What the project's wheel needs."""
    (wheel,) = (out / "dist").glob("shop_sparkassets*")
    archive = zipfile.ZipFile(wheel)
    text = archive.read(next(each for each in archive.namelist() if each.endswith("METADATA"))).decode()
    return re.findall(r"^Requires-Dist: (.*)$", text, flags=re.MULTILINE)


def test_the_packages_of_the_project_go_with_it(deploy, project):
    listed = '[project]\nname = "x"\ndependencies = ["pandas>=2,<3", "pyspark>=4", "sparkassets[metrics]>=0.1"]\n'
    (project.parent / "pyproject.toml").write_text(listed)
    first, second, *pins = metadata_of(deploy("databricks")[3])
    assert (first.partition("==")[0], second) == ("sparkassets[metrics]", "pandas>=2,<3")  # a runtime has its Spark
    assert not [each for each in pins if re.match("pyspark|py4j|delta-spark", each)]
    first, *rest = metadata_of(deploy("kubernetes")[3])
    assert (first.partition("==")[0], rest) == ("sparkassets[metrics,spark]", ["pandas>=2,<3", "pyspark>=4"])


def test_the_packages_of_a_file_of_requirements_go_with_it(deploy, project):
    (project / "more.txt").write_text("requests\n")
    (project / "requirements.txt").write_text(
        "# what it needs\n--index-url https://pypi.org/simple\n-r more.txt\n-e .\n"
        "scikit-learn==1.5 \\\n    --hash=sha256:abc  # pinned\nlib @ https://h/lib.whl ; python_version > '3.9'\n"
    )
    (project.parent / "pyproject.toml").write_text("[tool.ruff]\nline-length = 99\n")
    found = metadata_of(deploy("databricks")[3])[1:4]
    assert found == ["requests", "scikit-learn==1.5", "lib @ https://h/lib.whl ; python_version > '3.9'"]


@pytest.mark.parametrize(
    ("options", "arrow", "brought"),
    [
        ((), [], "pydantic"),  # environment 4, the default
        (("--environment", "3"), ["pyarrow==18.1.0"], "numpy"),  # the newest that goes with pandas 1.5
        (("--cluster", "15.4.x-scala2.12", "m5"), ["pyarrow==18.1.0"], "numpy"),
        (("--cluster", "17.3.x-scala2.13", "m5"), [], "pydantic"),
    ],
)
def test_a_job_of_tomorrow_installs_what_is_installed_here(deploy, project, options, arrow, brought):
    (project / "requirements.txt").write_text("hypothesis>=6\nrequests>=2\nnot-installed\n")
    code, told, _, out = deploy("databricks", *options)
    assert code == 0
    assert "the version of not-installed is not pinned: no release of it is installed here" in told
    _, own, left, unknown, *pins = metadata_of(out)
    assert [own, left, unknown] == [f"hypothesis=={version('hypothesis')}", "requests>=2", "not-installed"]
    assert {f"{name}=={version(name)}" for name in ("deltalake", "click", "croniter", "sortedcontainers")} <= {*pins}
    assert all(re.fullmatch(r"[a-z0-9-]+==[^ ;]+", each) for each in pins)
    assert [each for each in pins if each.startswith("pyarrow=")] == arrow
    assert not [each for each in pins if each.startswith(f"{brought}=")]  # the runtime brings it


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("../lib.whl", "requirements.txt:1: '../lib.whl' cannot be deployed"),
        ("git+https://h/x", "requirements.txt:1: 'git+https://h/x' cannot be deployed"),
        (
            "x @ https://me:hunter22@h/x",
            "requirements.txt:1: the requirement contains a credential, which would be written into a file",
        ),
        ("-r /etc/hosts", "/etc/hosts does not exist, or is outside"),
    ],
)
def test_what_cannot_be_taken_along_is_refused(deploy, project, line, told):
    (project / "requirements.txt").write_text(f"{line}\n")
    code, _, err, out = deploy("kubernetes")
    assert (code, told in err, "hunter22" in err) == (2, True, False)
    assert not out.exists()


def test_what_the_yaml_implies_goes_with_it(deploy, project):
    text = ASSETS + 'schedule: {any: [{at: "0 18 * * *", calendar: DE, roll: skip}, orders]}\n---\nasset: sky\n'
    text += "sql: SELECT 1\nschedule: {sun: sunset, latitude: 52.37, longitude: 4.9}\n"
    (project / "assets/shop.yml").write_text(text)
    more = "openlineage: {namespace: x}\nnotify: {to: ALERTS}\nsecrets: {ALERTS: {scope: a, key: b}}\n"
    (project / "project.yml").write_text(PROFILES + more)
    first, *_ = metadata_of(deploy("databricks")[3])
    assert first.partition("==")[0] == "sparkassets[calendars,notify,openlineage,sun]"


@pytest.mark.parametrize("kind", ["airflow", "systemd", "kubernetes", "cron"])
def test_two_profiles_have_names_of_their_own(deploy, kind):
    def names(profile):
        out = deploy(kind, "--profile", profile)[3]
        texts = [path.read_text() for path in out.iterdir() if path.is_file() and path.name[0] != "."]
        found = {path.name for path in out.iterdir() if path.name not in ("crontab", "Dockerfile", "dist")}
        return found | set(re.findall(r'dag_id="(\w+)"|^  name: (\S+)', "\n".join(texts), flags=re.MULTILINE))

    kept = {".sparkassets-deploy.json", "cronjob.yaml"}
    assert not (names("dev") - kept) & (names("prod") - kept)


def test_a_start_has_a_time_limit_and_somebody_is_told(deploy):
    told = ("--timeout", "6h", "--mail", "ops@example.org")
    job = bundle(deploy("databricks", *told)[3])["resources"]["jobs"]["shop"]
    assert job["timeout_seconds"] == 21_600
    assert job["email_notifications"] == {"on_failure": ["ops@example.org"]}
    text = (deploy("airflow", *told)[3] / "shop_dev.py").read_text()
    assert '"on_failure_callback": SmtpNotifier(to="ops@example.org")' in text
    assert "execution_timeout=pendulum.duration(seconds=21600)" in text
    script = (deploy("cron", *told)[3] / "shop_dev.sh").read_text()
    assert "mail -s 'shop_dev failed' ops@example.org" in script
    assert deploy("kubernetes", *told)[0] == deploy("systemd", *told)[0] == 2
    spec = yaml.safe_load((deploy("kubernetes", *told[:2])[3] / "cronjob.yaml").read_text())["spec"]
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 21_600
    assert "TimeoutStartSec=21600" in (deploy("systemd", *told[:2])[3] / "sparkassets-shop-dev.service").read_text()
    assert "invalid --timeout 1mo" in deploy("cron", "--timeout", "1mo")[2]


@pytest.fixture
def started(deploy, monkeypatch, tmp_path):
    """The script of cron, with a program in the place of Python that prints and fails."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "told"))
    (tmp_path / "told").write_text("#!/bin/sh\necho it failed; exit 3\n")
    (tmp_path / "told").chmod(0o755)
    return deploy("cron")[3]


def test_the_script_of_cron_says_why_it_failed_and_keeps_its_log_small(started):
    log = started / "shop_dev.log"
    log.write_text("x" * 11_000_000)
    for _ in range(2):
        ended = subprocess.run([started / "shop_dev.sh"], check=False, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (3, "")
        assert "shop_dev failed with code 3; the end of" in ended.stderr
        assert ended.stderr.endswith("it failed\n")
    assert log.read_text() == "it failed\nit failed\n"
    assert (started / "shop_dev.log.1").stat().st_size == 11_000_000


def test_the_line_of_cron_is_there_once_however_often_it_is_installed(started, tmp_path, deploy):
    table = tmp_path / "table"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/crontab").write_text(
        f'#!/bin/sh\nif [ "$1" = -l ]; then cat {table}; else cat > {table}.new; mv {table}.new {table}; fi\n'
    )
    (tmp_path / "bin/crontab").chmod(0o755)
    table.write_text("0 0 * * * /bin/other\n")
    for cron in ("0 6 * * *", "0 7 * * *"):
        (command,) = json.loads(deploy("cron", "--cron", cron, "--json")[1])["next"]
        path = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", command], check=True, env=path)
    assert table.read_text() == f"0 0 * * * /bin/other\n0 7 * * * {started / 'shop_dev.sh'}\n"


def test_the_image_holds_java_the_packages_and_the_jars(deploy):
    lines = (deploy("kubernetes")[3] / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if "sparkassets.spark" in line] == ["RUN python -m sparkassets.spark"]
    assert lines.index("USER spark") < lines.index("RUN python -m sparkassets.spark")  # into its own cache folder
    assert "openjdk-17-jre-headless" in "".join(lines)
