"""What is taken for a credential, and what only looks like one."""

import pytest

from sparkassets.core.credentials import secret_in_text, secrets_in


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("postgres://me:hunter2@db/shop", "a password"),
        ("//me:secret@host/x", "a password"),
        ("me:secret@host/x", "a password"),
        ("redis://:secret@host", "a password"),
        ("connects to postgres as me:secret@host", "a password"),
        ("jdbc:oracle:thin:scott/tiger@db", "a password"),
        ("https://b/x?X-Amz-Signature=abc&b=1", "a credential in 'X-Amz-Signature'"),
        ("s3://b/x?AWSAccessKeyId=abc&Expires=1", "a credential in 'AWSAccessKeyId'"),
        ("https://b/x?sv=2&sig=abc", "a credential in 'sig'"),
        ("https://b/x%3Fsv%3D2%26sig%3Dabc", "a credential in 'sig'"),
        ("https://b/x%253Fsig%253Dabc", "a credential in 'sig'"),
        ("https://b/x#access_token=abc", "a credential in 'access_token'"),
        ("https://b/x?pass=abc", "a credential in 'pass'"),
        ("https://b/x?auth=abc", "a credential in 'auth'"),
        ("https://b/x?code=Zk1qP0aX9dT4uY7w", "a credential in 'code'"),
        ("host=a password=b", "a credential in 'password'"),
        ("token=b", "a credential in 'token'"),
        ("AKIAABCDEFGHIJKLMNOP", "a key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-na_ture1", "a key"),
        ("Bearer 3f9aa1c27b", "a key"),
    ],
)
def test_credentials_in_text(text, what):
    assert secret_in_text(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a?design=1&x=y",
        "abfss://container@account.dfs.core.windows.net/sales",
        "kafka://a:9092,b:9092/topic",
        "http://[::1]:8080/x",
        "https://h/orders?code=DE&page=2",
        "s3://b/x?key=a/b",
        "git@github.com:o/r",
        "shop:1.2@sha256:9f86d081884c",
        "mailto:ann@example.com",
        "contact:ann@example.com",
        "jdbc:oracle:thin:@db:1521",
        "at 10:30@berlin",
        "the password was changed",
        "the bearer of authentication",
        "exit code=137 pass=5",
    ],
)
def test_ordinary_text_holds_none(text):
    assert secret_in_text(text) is None


@pytest.mark.parametrize(
    "extra",
    [
        {"password": 12345},
        {"password": ["hunter2"]},
        {"password": {"value": "hunter2"}},
        {"authorization": "Negotiate"},
        {"aws_secret_access_key": "b"},
        {"APIKey": "b"},
        {"SASToken": ["b"]},
        {"credentials": {"user": "me"}},
    ],
)
def test_what_stands_under_the_name_of_a_credential_is_one(extra):
    (name,) = extra
    assert list(secrets_in(extra)) == [((name,), f"a credential in {name!r}")]


@pytest.mark.parametrize(
    "extra",
    [
        {"tokens": 1200, "token_count": 7, "token": 3, "secrets": 2, "token_usage": {"in": 5}},
        {"password": "", "passwd": None, "has_password": True},
        {"secretary": "Ann", "keys": ["id"], "primary_key": "id", "sort_key": "day", "code": "DE", "pass": 5},
    ],
)
def test_what_is_counted_or_empty_is_none(extra):
    assert list(secrets_in(extra)) == []


def test_secrets_are_found_at_any_depth():
    extra = {
        "team": "sales",
        "tokens": "many",
        "jdbc": [{"url": "jdbc:postgresql://me:pw@host/db"}, {"secretAccessKey": "x"}],
        "id": "AKIAABCDEFGHIJKLMNOP",
        "by_url": {"x?sig=abc": {"password": "x"}},
    }
    assert list(secrets_in(extra)) == [
        (("jdbc", 0, "url"), "a password"),
        (("jdbc", 1, "secretAccessKey"), "a credential in 'secretAccessKey'"),
        (("id",), "a key"),
        (("by_url",), "a credential in 'sig', as a key"),
    ]


@pytest.mark.parametrize("text", ["//" + ":" * 60_000, "a:" * 30_000, "x=" * 30_000, "a_" * 30_000 + "=1"])
def test_a_long_text_is_looked_through_once(text):
    secret_in_text(text)
