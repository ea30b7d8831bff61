"""Profiles of a project: what holds under each, and that no two write to one place."""

import pytest

from sparkassets.core.variables import PROFILE, merge_requested
from sparkassets.errors import InputError
from tests.core.spec.in_memory import compiled, errors

PROJECT = """
project: shop
state: ${LAKE}/state
warehouse: ${LAKE}/tables
spark: {a: 1, b: 1}
max_parallel_runs: 2
profiles:
  dev: {variables: {LAKE: ./lake}, spark: {b: 2}}
  prod: {variables: {LAKE: "s3://${BUCKET}/shop"}, state: /ops/state, logs: ./logs, max_parallel_runs: 8}
"""
SOURCE = {"a.yml": "asset: a\nsource: true\ndescription: from ${LAKE:-nowhere}\n"}


def project(text=PROJECT, *, profile=None, env=None, given=None):
    return compiled({"project.yml": text, **SOURCE}, env=merge_requested(env or {}, profile=profile, given=given or {}))


def refused(text, *, profile=None, env=None):
    return errors({"project.yml": text, **SOURCE}, env=merge_requested(env or {}, profile=profile, given={}))


def test_what_a_profile_says_holds_and_all_else_is_the_projects():
    dev = project(profile="dev")
    assert (dev.profile, dev.state, dev.warehouse) == ("dev", "/shop/lake/state", "/shop/lake/tables")
    assert (dict(dev.spark), dev.max_parallel_runs, dev.logs) == ({"a": "1", "b": "2"}, 2, None)
    assert dev.assets["a"].description == "from ./lake"
    prod = project(profile="prod", env={"BUCKET": "big"})
    assert (prod.state, prod.warehouse, prod.logs) == ("/ops/state", "s3://big/shop/tables", "/shop/logs")
    assert (dict(prod.spark), prod.max_parallel_runs) == ({"a": "1", "b": "1"}, 8)


def test_the_environment_names_the_profile_and_the_command_goes_before_it():
    assert project(env={PROFILE: "dev"}).profile == "dev"
    assert project(env={PROFILE: "dev", "BUCKET": "b"}, profile="prod").profile == "prod"


def test_the_file_names_the_usual_profile():
    text = f"{PROJECT}profile: dev\n"
    assert project(text).profile == "dev"
    assert project(text, profile="prod", env={"BUCKET": "b"}).profile == "prod"
    assert project(text.replace("profile: dev", "profile: ${STAGE:-dev}")).profile == "dev"


def test_set_goes_before_the_profile_and_that_before_the_environment():
    assert project(profile="dev", env={"LAKE": "/env"}).state == "/shop/lake/state"
    assert project(profile="dev", env={"LAKE": "/env"}, given={"LAKE": "/set"}).state == "/set/state"
    assert project(env={"LAKE": "/env"}).state == "/env/state"


def test_variables_of_other_profiles_are_not_asked_for():
    assert project(profile="dev").profile == "dev"  # BUCKET is not set
    told = refused(PROJECT, profile="prod")
    assert "project.yml:8:34: the environment variable 'BUCKET' is not set" in told
    assert "hint: set it, give it by --set BUCKET=… or a profile's `variables`, or write ${BUCKET:-a default}" in told


def test_a_variable_may_name_those_above_it():
    text = "project: shop\nprofiles:\n  dev: {variables: {A: x, B: '${A}/y'}, state: '${B}', warehouse: w}\n"
    assert project(text, profile="dev").state == "/shop/x/y"


def test_a_profile_that_is_not_there():
    with pytest.raises(InputError, match=r"unknown profile 'pord' in project\.yml") as error:
        project(profile="pord")
    assert error.value.hint == "did you mean 'prod'?"
    with pytest.raises(InputError, match=r"unknown profile 'x' in project\.yml") as error:
        project(profile="x")
    assert error.value.hint == "known are dev, prod"
    with pytest.raises(InputError, match=r"unknown profile 'dev': project\.yml has no `profiles`"):
        project("project: shop\n", profile="dev")
    assert "unknown profile 'staging'" in refused(f"{PROJECT}profile: staging\n")


@pytest.mark.parametrize("asked_for", [None, "dev", "prod"])
def test_two_profiles_that_share_a_state_are_refused_whichever_holds(asked_for):
    text = "project: p\nprofiles:\n  dev: {state: ./s, warehouse: w1}\n  prod: {state: s/, warehouse: w2}\n"
    told = refused(text, profile=asked_for)
    assert "project.yml:4:3: profile 'prod' has the same state as profile 'dev': s/" in told
    assert "hint: give it a different `state`" in told


def test_a_profile_does_not_share_what_the_project_has_without_one():
    text = "project: p\nprofiles:\n  dev: {state: other}\n"
    told = refused(text, profile="dev")
    assert "profile 'dev' has the same warehouse as the project without a profile: ./warehouse" in told
    assert "state of" not in told
    assert project(f"{text}profile: dev\n").state == "/shop/other"  # then nothing runs without one


def test_places_are_compared_as_variables_make_them():
    text = "project: p\nprofile: a\nstate: ${X}/s\nwarehouse: ${X}/w\nprofiles:\n  a: {variables: {X: q}}\n  b: {}\n"
    assert project(text).state == "/shop/q/s"  # what X is for b is not known here
    assert "profile 'b' has the same state as profile 'a'" in refused(text, env={"X": "q"})


def test_what_is_set_leads_no_profile_into_another():
    assert project(profile="dev", given={"LAKE": "/set"}).warehouse == "/set/tables"
    text = PROJECT.replace("s3://${BUCKET}/shop", "./big")
    told = errors({"project.yml": text, **SOURCE}, env=merge_requested({}, profile="dev", given={"LAKE": "./big"}))
    assert "profile 'prod' has the same warehouse as profile 'dev': ${LAKE}/tables" in told


def test_unknown_keys_and_values_of_every_profile_are_found():
    told = refused(f"{PROJECT}  test: {{stat: x, max_parallel_runs: no}}\n", profile="dev")
    assert "unknown key 'stat'" in told
    assert "did you mean 'state'?" in told
    assert "max_parallel_runs" in told


def test_a_secret_in_a_profiles_state_is_refused_at_its_place():
    told = refused("project: p\nprofiles:\n  d: {state: 's3://u:pw@h/x', warehouse: w}\n", profile="d")
    assert "project.yml:3:14: 'state' contains a password" in told


def test_values_of_a_profile_are_shown_and_those_of_the_environment_are_not():
    spec = project(profile="prod", env={"BUCKET": "secret-bucket"})
    assert dict(spec.variables) == {"BUCKET": "secret-bucket"}
