"""What is secret is neither shown nor stored, wherever it came from."""

import json
from pathlib import Path

import pytest

from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.errors import RunError
from sparkassets.wiring.watchers import explain_failure

SECRET = "hunter2-of-the-environment"  # noqa: S105  it is none


@pytest.fixture
def project(shop, monkeypatch):
    """Writes the keys of one asset into a project that has a secret in its environment."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)

    def write(text):
        (shop / "assets" / "odd.yml").write_text(text)
        return str(shop)

    return write


@pytest.mark.parametrize(
    "keys",
    [
        "schedule: ${SHOP_SECRET}",
        "schedule: ${SHOP_SECRET} & b",
        "partition: {by: '${SHOP_SECRET}'}",
        "retries: ${SHOP_SECRET}",
        "type: [${SHOP_SECRET}]",
        "python: ${SHOP_SECRET}",
        "python: ${SHOP_SECRET}:x",
        "sql: ${SHOP_SECRET}.sql",
        "sql: ${SHOP_SECRET}",
        "uri: '${SHOP_SECRET}://x y'",
        "columns: {x: '${SHOP_SECRET}'}",
        "inlets: ['${SHOP_SECRET}']",
        "timezone: ${SHOP_SECRET}",
        "timeout: ${SHOP_SECRET}",
        "path: s3://me:${SHOP_SECRET}@b/x",
    ],
)
def test_values_of_the_environment_are_not_shown(project, run_cli, keys):
    folder = project(f"asset: odd\n{keys}\n")
    for arguments in (["validate"], ["validate", "--json"], ["plan"], ["plan", "--json"]):
        code, out, err = run_cli(*arguments, "--project", folder)
        assert code == 2
        assert SECRET not in out + err
        assert "unexpected" not in out + err
    assert "odd.yml:2:" in err or "odd.yml" in out


def test_a_line_with_a_credential_is_shown_without_it(project, run_cli):
    folder = project('asset: odd\nextra: {password: "hunter2", token: abc}\nsparc: {dbPassword: hunter2}\n')
    _, _, err = run_cli("validate", "--project", folder)
    assert "hunter2" not in err
    assert "'extra' contains a credential in 'password', and events store it as clear text" in err
    assert "    sparc: {dbPassword: *******}\n    ^^^^^" in err


def test_what_is_typed_is_not_repeated(shop, run_cli):
    folder = str(shop)
    for arguments in (
        ["events", "add", "nothing", "--id", "token=hunter2"],
        ["events", "add", "x-a://b", "--extra", '{"password": "hunter2"}'],
        ["events", "add", "postgres://me:hunter2@db/x"],
        ["plan", "--at", "password=hunter2"],
        ["explain", "password=hunter2"],
        ["status", "--password=hunter2"],
        ["run", "--select", "password=hunter2"],
    ):
        for more in ([], ["--json"]):
            code, out, err = run_cli(*arguments, *more, "--project", folder)
            assert code == 2
            assert "hunter2" not in out + err
            assert "unexpected" not in out + err


def test_an_id_is_no_place_for_a_credential(shop, run_cli):
    (name,) = [path.stem for path in (shop / "assets").glob("*.yml")][:1]
    code, out, _ = run_cli("events", "add", name, "--id", "AKIAIOSFODNN7EXAMPLE", "--json", "--project", str(shop))
    assert code == 2
    assert json.loads(out)["error"]["message"] == "the id contains a key; events are clear text"


def test_what_is_stored_of_a_failure_has_no_credentials(tmp_path):
    project = ProjectSpec(
        "shop",
        str(tmp_path),
        str(tmp_path / "state"),
        str(tmp_path),
        {},
        variables={"SHOP_SECRET": SECRET, "ENV": "dev"},
    )
    error = RunError(f"cannot reach jdbc:postgresql://me:pw@db/x?sslpassword=pw2 with {SECRET} in dev of a device")
    explained = explain_failure(project, "run-1", error)
    told = Path(explained.details).read_text("utf-8")
    assert explained.error == (
        "cannot reach jdbc:postgresql://me:***@db/x?sslpassword=*** with ${SHOP_SECRET} in ${ENV} of a device"
    )
    assert explained.error in told
    assert SECRET not in told
