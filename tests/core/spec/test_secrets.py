"""Secrets of a project: where they may be named."""

import pytest

from sparkassets.core.spec.project_spec import SecretRef
from sparkassets.core.variables import merge_requested
from sparkassets.errors import FileLocation
from tests.core.spec.in_memory import compiled, errors

PROJECT = """
project: shop
spark: {a: "x-${KEY}-${OTHER:-o}", b: plain}
secrets:
  KEY: {scope: ops, key: the-key}
profiles:
  dev: {state: s1, warehouse: w1, spark: {c: "${KEY}${OWN}"}, secrets: {OWN: {scope: mine, key: own}}}
"""
SOURCE = {"a.yml": "asset: a\nsource: true\n"}


def project(text=PROJECT, *, env=None, profile=None):
    return compiled({"project.yml": text, **SOURCE}, env=merge_requested(env or {}, profile=profile, given={}))


@pytest.mark.parametrize("env", [{}, {"KEY": "hunter2222"}])
def test_a_setting_keeps_the_name_of_a_secret_whatever_the_environment_has(env):
    spec = project(env=env)
    assert dict(spec.spark) == {"a": "x-${KEY}-o", "b": "plain"}
    assert spec.secrets == {"KEY": SecretRef("ops", "the-key", FileLocation("project.yml", 4, 3))}
    assert spec.variables == env  # what is told of a run shows their names


def test_a_profile_has_secrets_of_its_own():
    spec = project(profile="dev")
    assert spec.spark["c"] == "${KEY}${OWN}"
    assert spec.secrets["OWN"].scope == "mine"
    assert str(spec.secrets["OWN"].location).startswith("project.yml:6:")


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"project.yml": PROJECT.replace("a: ", "a: ") + "state: s3://${KEY}/x\n"}, "project.yml:7:8"),
        ({"project.yml": PROJECT.replace("state: s1", "state: '${KEY}/s'")}, "project.yml:6:16"),
        ({"project.yml": PROJECT.replace("state: s1", "state: s1, variables: {A: '${OWN}'}")}, "project.yml:6:"),
        ({"project.yml": PROJECT, "a.yml": "asset: a\nsource: true\ndescription: ${KEY}\n"}, "a.yml:3:14"),
        ({"project.yml": PROJECT, "a.yml": "asset: a\nsource: csv\npath: 's3://x/${KEY}/{day}'\n"}, "a.yml:3:7"),
    ],
)
def test_elsewhere_a_secret_is_refused(files, place):
    told = errors({**SOURCE, **files}, env=merge_requested({"KEY": "hunter2222"}, profile="dev", given={}))
    assert place in told
    assert "is not allowed here" in told
    assert "hunter2222" not in told


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{scope: ops}", "'key'"),
        ('{scope: ops, key: "x\' || 1"}', "a name of letters, digits, '.', '_', '-' and '@'"),
        ("{scope: ops, key: k, value: x}", "unknown key 'value'"),
        ("hunter2222", "a map"),
    ],
)
def test_a_reference_is_a_scope_and_a_key(written, told):
    assert told in errors({"project.yml": f"project: p\nsecrets:\n  A: {written}\n", **SOURCE})
