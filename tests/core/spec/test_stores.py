"""`storage` of a project: buckets, where their credentials are, and what is no credential's place."""

import pytest

from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.core.variables import merge_requested
from tests.core.spec.in_memory import compiled, errors

SOURCE = {"a.yml": "asset: a\nsource: true\n"}
PROJECT = """
project: shop
storage:
  s3a://lake/: {endpoint: "http://${HOST:-minio}:9000/", region: eu, access_key: LAKE_KEY, secret_key: LAKE_SECRET,
    timeout: 1m, retries: 3}
  s3://open: {anonymous: true}
profiles:
  dev: {state: s1, warehouse: w1, storage: {s3://lake: {endpoint: "http://localhost:9000"}, s3://: {region: us}}}
"""


def project(text=PROJECT, *, profile=None):
    env = merge_requested({}, profile=profile, given={})
    return {each.bucket: each for each in compiled({"project.yml": text, **SOURCE}, env=env).storage}


def test_options_of_each_bucket():
    found = project()
    assert str(found["lake"].location) == "project.yml:3:3"
    place = found["lake"].location
    assert found["lake"] == StoreOptions(
        "lake",
        "http://minio:9000",
        "eu",
        "LAKE_KEY",
        "LAKE_SECRET",
        timeout_seconds=60,
        retries=3,
        location=place,
    )
    assert found["open"].anonymous
    assert list(found) == ["lake", "open"]


def test_those_of_a_profile_go_before_the_projects_however_the_bucket_is_written():
    found = project(profile="dev")
    assert (found["lake"].endpoint, found["lake"].access_key) == ("http://localhost:9000", None)
    assert found[""].region == "us"
    assert found["open"].anonymous


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            "{gs://lake: {region: eu}}",
            "'gs://lake' does not name a bucket; expected s3://<bucket>, or s3:// for every bucket",
        ),
        ("{s3://lake/tables: {region: eu}}", "'s3://lake/tables' does not name a bucket"),
        ("{s3://a: {region: eu}, s3a://a: {region: us}}", "'s3a://a' is the same bucket as 's3://a'"),
        ("{s3://a: {acces_key: A}}", "did you mean 'access_key'?"),
        ("{s3://a: {access_key: A}}", "'access_key' needs 'secret_key'"),
        ("{s3://a: {session_token: A}}", "'session_token' needs 'access_key' and 'secret_key'"),
        (
            "{s3://a: {access_key: A, secret_key: B, anonymous: true}}",
            "'anonymous' and 'access_key' exclude each other",
        ),
        ("{s3://a: {endpoint: minio:9000}}", "'endpoint' is not a URL"),
        ("{s3://a: {timeout: 0s}}", "'timeout' is '0s'; expected a positive duration"),
        ("{s3://a: {retries: -1}}", "expected a whole number of at least 0"),
        ("{s3://a: 1}", "expected a map"),
    ],
)
def test_what_is_refused(written, told):
    assert told in errors({"project.yml": f"project: p\nstorage: {written}\n", **SOURCE})


@pytest.mark.parametrize(
    ("written", "hidden"),
    [
        ("access_key: AKIAIOSFODNN7EXAMPLE, secret_key: LAKE_SECRET", "AKIA"),
        ("access_key: LAKE_KEY, secret_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
        ("endpoint: 'https://me:hunter2222@minio:9000'", "hunter2222"),
        ("access_key: LAKE_KEY, secret_key: '${LAKE_SECRET}'", "hunter2222"),
    ],
)
def test_a_credential_is_refused_and_not_shown(written, hidden):
    env = {"LAKE_SECRET": "hunter2222/hunter2222"}
    told = errors({"project.yml": f"project: p\nstorage:\n  s3://a: {{{written}}}\n", **SOURCE}, env=env)
    assert "project.yml:3:" in told
    assert hidden not in told


def test_a_secret_stands_in_no_option():
    text = "project: p\nsecrets: {KEY: {scope: a, key: b}}\nstorage: {s3://a: {region: '${KEY}'}}\n"
    assert "the secret '***' is not allowed here" in errors({"project.yml": text, **SOURCE})
    text = "project: p\nsecrets: {KEY: {scope: a, key: b}}\nprofile: x\n"
    text += "profiles: {x: {storage: {s3://a: {region: '${KEY}'}}}}\n"
    assert "the secret '***' is not allowed here" in errors({"project.yml": text, **SOURCE})
