"""What is taken for a credential, and what only looks like one."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.credentials import secret_in_text, secrets_in
from sparkassets.core.redaction import RedactingStream, redact, redact_json
from tests.core.secret_kinds import KINDS


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


KEYS = {
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws session": "ASIAIOSFODNN7EXAMPLE",
    "databricks": "dapi" + "0123456789abcdef" * 2,
    "databricks 2": "dapi" + "0123456789abcdef" * 2 + "-2",
    "github": "ghp_" + "aB3" * 12,
    "github app": "ghs_" + "aB3" * 12,
    "github fine": "github_pat_11ABCDEFG0" + "aB3_" * 15,
    "gitlab": "glpat-" + "aB3-" * 5,
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "google": "AIza" + "aB3_-" * 7,
    "google oauth": "ya29." + "aB3_-" * 7,
    "npm": "npm_" + "aB3" * 12,
    "pypi": "pypi-AgEIcHlwaS5vcmc" + "aB3_" * 18,
    "stripe": "sk_live_" + "aB3" * 8,
    "openai": "sk-proj-" + "aB3" * 8,
    "vault": "hvs." + "aB3" * 8,
    "azure ad": "abc8Q~" + "aB3_" * 8,
    "azure storage": "aB3+/x" * 14 + "ab==",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig-na_ture1",
    "bearer": "Bearer 3f9aa1c27b",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY-----",
    "pem of elliptic curves, cut": "-----BEGIN EC PRIVATE KEY-----\nMIIB\nAAAA",
}
"""None is real."""

NAMES = [
    *("password", "PASSWORD", "dbPassword", "db_password", "password_db", "passwd_db", "password2", "userPasswd", "pw"),
    *("db_pw", "ftp-pw", "passphrase", "keyPassphrase", "ssl.key.passphrase", "pwd", "ADMIN_PWD", "passcode"),
    *("secret", "client_secret", "clientSecret", "clientsecret", "CLIENT-SECRET", "app_secret", "secret_value"),
    *(
        "secretAccessKey",
        "secret_access_key",
        "aws_secret_access_key",
        "AWSAccessKeyId",
        "aws_access_key_id",
        "accessKey",
    ),
    *("apiKey", "api_key", "API-KEY", "x-api-key", "apikey", "myApiKey", "API_KEY_PROD", "accountKey", "AccountKey"),
    *("SharedAccessKey", "private_key", "privateKey", "privatekey", "encryption_key", "signing-key", "account_key_old"),
    *("token", "access_token", "accessToken", "refresh_token", "id_token", "sas_token", "SASToken", "authToken"),
    *("GITHUB_TOKEN", "session_token", "X-Amz-Security-Token", "X-Amz-Signature", "x-amz-credential", "signature"),
    *("authorization", "Proxy-Authorization", "credentials", "jwt", "sig", "db_pass", "smtpPass", "DB_PASSWORD_PROD"),
    *("fs.azure.account.key.lake.dfs.core.windows.net", "fs.s3a.secret.key", "spark.hadoop.fs.s3a.access.key"),
]

ORDINARY = [
    *(
        "tokens",
        "token_count",
        "tokenCount",
        "max_tokens",
        "tokenizer",
        "password_policy",
        "passwordPolicy",
        "password_length",
    ),
    *("password_changed_at", "secret_name", "secret_scope", "token_type", "token_url", "token_expiry", "api_key_name"),
    *(
        "author",
        "authority",
        "authors",
        "keyboard",
        "secretary",
        "secretariat",
        "pwned",
        "spw",
        "pwm",
        "powder",
        "kpw_1",
    ),
    *(
        "key",
        "keys",
        "primary_key",
        "partition_key",
        "sort_key",
        "public_key",
        "monkey",
        "turkey",
        "hockey_keys",
        "compass",
    ),
    *(
        "pass",
        "boarding_pass",
        "first_pass",
        "passes",
        "passenger",
        "bypass",
        "sign",
        "design",
        "signal",
        "assignature_x",
    ),
    *("sast", "sassy", "credential_provider", "authorized", "authorization_url", "code", "id", "passport", "tokenised"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_credentials(name):
    assert list(secrets_in({name: "hunter2"})) == [((name,), f"a credential in {name!r}")]
    for text in (f"{name}=hunter2", f"a=1&{name}=hunter2&b=2", f'{{"{name}": "hunter2"}}', f"'{name}': 'hunter2'"):
        assert secret_in_text(text), text
        assert "hunter2" not in redact(text), text


@pytest.mark.parametrize("name", ORDINARY)
def test_names_of_nothing_secret(name):
    assert list(secrets_in({name: "hunter2"})) == []
    for text in (f"{name}=hunter2", f"a=1,{name}=hunter2", f'{{"{name}": "hunter2"}}', f"'{name}': 'hunter2'"):
        assert secret_in_text(text) is None, text
        assert redact(text) == text


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_keys_are_known_by_themselves(key):
    assert secret_in_text(key)
    assert redact(key) == "***"
    for text in (f"it failed with {key}, so", f"'{key}'", f"(see {key})", f"x={key}", f'{{"a": "{key}"}}'):
        assert secret_in_text(text), text
        assert key not in redact(text), text


def test_the_secret_beside_an_aws_key():
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105  AWS's own example
    assert redact(f"AKIAIOSFODNN7EXAMPLE:{secret}") == "***:***"
    assert redact(f"AKIAIOSFODNN7EXAMPLE\n{secret}") == "***\n***"
    assert (
        redact("commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b") == "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"),
        ("--password hunter2 --user me", "--password *** --user me"),
        ("--password=hunter2", "--password=***"),
        ("{'password': b'hunter2', 'user': b'me'}", "{'password': b'***', 'user': b'me'}"),
        ('login(password=rb"hunter2")', 'login(password=rb"***")'),
        ("login(password='hun\\'ter2', user='me')", "login(password='***', user='me')"),
        ("login(token=hunter2)", "login(token=***)"),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"***\\"}'),
        ("CREATE USER me IDENTIFIED BY 'hunter2'", "CREATE USER me IDENTIFIED BY '***'"),
        ("ALTER USER me WITH PASSWORD 'hunter2'", "ALTER USER me WITH PASSWORD '***'"),
        ("OPTIONS (user 'me', password 'hunter2')", "OPTIONS (user 'me', password '***')"),
        ("AccountName=a;AccountKey=ab+/==;X=1", "AccountName=a;AccountKey=***;X=1"),
        ("Server=db;User Id=me;Password=hunter2;", "Server=db;User Id=me;Password=***;"),
        ("https://a.blob.core.windows.net/c?sv=2022&sig=a%2Bb%3D", "https://a.blob.core.windows.net/c?sv=2022&sig=***"),
        ("https://me:p@ss@host/x", "https://me:***@host/x"),
        ("https://me:pa/ss@host/x", "https://me:***@host/x"),
        ("mongodb://me:hunter2@a:27017,b:27017/x", "mongodb://me:***@a:27017,b:27017/x"),
        ("as me:hunter2@host", "as me:***@host"),
        ("see https%3A%2F%2Fme%3Ahunter2%40host now", "see https://me:***@host now"),
        ("java.sql.SQLException: bad url jdbc:mysql://h/d?user=me&password=hunter2\n\tat com.x.Y(Z.java:5)",
         "java.sql.SQLException: bad url jdbc:mysql://h/d?user=me&password=***\n\tat com.x.Y(Z.java:5)"),
        ("export DB_PASSWORD=hunter2\nexport PWD=/home/me", "export DB_PASSWORD=***\nexport PWD=/home/me"),
        ("token: 3, tokens=1,200", "token: 3, tokens=1,200"),
        ("password: ***, token=${T}, secret={{ x }}, pw=None", "password: ***, token=${T}, secret={{ x }}, pw=None"),
        ("https://host:8080/path@2x.png and a@b.c", "https://host:8080/path@2x.png and a@b.c"),
        ("100% of it", "100% of it"),
    ],
)  # fmt: skip
def test_what_is_shown_of_a_text(text, shown):
    assert redact(text) == shown
    assert redact(shown) == shown
    assert bool(secret_in_text(text)) == (text != shown)


def test_variables_are_shown_by_their_names():
    variables = {"BUCKET": "lake", "LONGER": "lake-9", "SHORT": "x"}
    assert redact("s3://lake/x in lake-9", variables=variables) == "s3://${BUCKET}/x in ${LONGER}"


SECRETS = [*KEYS.values(), "postgres://me:hunter2@db/shop", "client_secret=hunter2", "Authorization: Bearer hunter2"]
AROUND = st.sampled_from(
    [
        "{}",
        "https://h/p?a=1&b={}",
        "2025-01-01 12:00:00 ERROR run failed: {} (code=5)",
        'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    connect({})\nValueError: no {}',
        "SELECT * FROM t WHERE a = '{}' -- {}",
        "org.apache.spark.SparkException: [X] {} SQLSTATE: 1\n\tat a.b.C(D.java:1)",
        "see {}.",
        "[{}]",
        "x={}",
        "a: {}",
    ]
)


@given(st.sampled_from(SECRETS), AROUND, AROUND, st.booleans())
def test_wherever_it_stands_it_is_refused_and_hidden(secret, inner, outer, as_json):
    text = outer.format(inner.format(secret, secret), "x")
    text = json.dumps({"note": [text]}) if as_json and "\n" not in secret else text
    assert secret_in_text(text)
    shown = redact(text)
    assert "hunter2" not in shown
    assert secret not in shown
    assert secret_in_text(shown) is None
    assert redact(shown) == shown
    assert list(secrets_in({"note": [text]})) == [(("note", 0), secret_in_text(text))]


@given(st.text(alphabet="aZ0_.-:=@/?&;#'\" \n%{}[]\\", max_size=60))
def test_hiding_twice_hides_no_more(text):
    assert redact(redact(text)) == redact(text)


BEFORE = {
    "nothing": "",
    "words": "it failed with ",
    "a line end of repr": "failed:\\n",
    "a line end of JSON in JSON": "failed:\\\\n",
    "a tab of repr": "failed:\\t",
    "a colour": "\x1b[31m",
    "a colour of repr": "\\x1b[31m",
    "a name": "THE_",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize(("text", "secret"), KINDS.values(), ids=KINDS)
def test_every_kind_is_hidden_whatever_stands_before_it(text, secret, before):
    shown = redact(f"{before}{text}")
    assert secret not in shown
    assert "***" in shown


@pytest.mark.parametrize(("text", "secret"), KINDS.values(), ids=KINDS)
def test_every_kind_is_hidden_in_a_text_that_comes_line_by_line(text, secret):
    stream = RedactingStream({})
    shown = "".join(stream.redact(line) for line in f"begins\n{text}\nends\n".splitlines(keepends=True))
    assert secret not in shown
    assert shown.startswith("begins\n")
    assert shown.endswith("ends\n") or "BEGIN" in text or "PuTTY" in text  # whose end is not there


def test_what_stands_under_a_name_is_hidden_in_json():
    told = {"password": "hunter2", "columns": ["password", "email"], "n": 1, "password_policy": "strict"}
    assert redact_json(told) == {**told, "password": "***"}


@pytest.mark.parametrize("long", ["'a', ", "a:", "aB3x-", "x:y@z/", '\\"'])
def test_a_long_text_takes_time_in_proportion(long):
    assert redact(long * (200_000 // len(long)))  # within the time limit of a test; seconds where it took its square


def test_the_detector_leaves_warnings_of_the_process_as_they_are():
    code = (
        "import sys, warnings\n"
        "from sparkassets.core.redaction import redact\n"
        "before = warnings.showwarning\n"
        "assert redact('SK' + '9f86d081884c7d659a2feaa0c55ad015') == '***'\n"
        "assert 'detect_secrets' in sys.modules\n"
        "assert warnings.showwarning is before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
