"""What a project says of its buckets, in the words of each library, with credentials that nothing shows."""

import pytest
from msgspec.structs import force_setattr

from sparkassets import Project
from sparkassets.core.spec.project_spec import StoreOptions
from sparkassets.errors import FileLocation, InputError
from sparkassets.files.object_stores import (
    StoreCredentials,
    arrow_options,
    deltalake_options,
    find_bucket_access,
    hadoop_settings,
    set_bucket_access,
)
from sparkassets.wiring.credentials import SecretValues, SettingsWithBuckets, bucket_access
from tests.builders import project

HERE = FileLocation("conf/project.yml", 4, 3)
LAKE = StoreOptions("lake", "http://minio:9000", "eu", "KEY", "SECRET", timeout_seconds=30, retries=0, location=HERE)
OPEN = StoreOptions("open", anonymous=True)
REST = StoreOptions("", region="us")
ENV = {"KEY": "key-1", "SECRET": "hunter2222"}


@pytest.fixture(autouse=True)
def _nothing_is_left():
    yield
    set_bucket_access(())


def storage_options_of(*options, env=None):
    spec = project()
    force_setattr(spec, "storage", options)
    secrets = SecretValues({}, ENV if env is None else env)
    found = bucket_access(spec, secrets)
    set_bucket_access(found)
    return found, secrets


@pytest.mark.parametrize("scheme", ["s3", "s3a", "S3A"])
def test_one_bucket_by_all_of_its_names(scheme):
    storage_options_of(LAKE, OPEN)
    assert deltalake_options(f"{scheme}://lake/tables/orders") == {
        "aws_endpoint": "http://minio:9000",
        "aws_allow_http": "true",
        "aws_region": "eu",
        "aws_access_key_id": "key-1",
        "aws_secret_access_key": "hunter2222",
        "timeout": "30s",
        "max_retries": "0",
    }
    assert deltalake_options(f"{scheme}://open/x") == {"aws_skip_signature": "true"}


def test_of_others_nothing_is_said_unless_it_is_of_all():
    storage_options_of(LAKE)
    assert (
        find_bucket_access("s3://lake2/x")
        is find_bucket_access("gs://lake/x")
        is find_bucket_access("/data/lake")
        is None
    )
    assert deltalake_options("s3://other/x") == {}
    storage_options_of(LAKE, REST)
    assert deltalake_options("s3://other/x") == {"aws_region": "us"}


def test_hadoop_reaches_the_same_buckets():
    found, _ = storage_options_of(LAKE, OPEN, REST)
    assert hadoop_settings(found) == {
        "spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://minio:9000",
        "spark.hadoop.fs.s3a.bucket.lake.endpoint.region": "eu",
        "spark.hadoop.fs.s3a.bucket.lake.path.style.access": "true",
        "spark.hadoop.fs.s3a.bucket.lake.access.key": "key-1",
        "spark.hadoop.fs.s3a.bucket.lake.secret.key": "hunter2222",
        "spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
        ),
        "spark.hadoop.fs.s3a.bucket.lake.connection.timeout": "30s",
        "spark.hadoop.fs.s3a.bucket.lake.attempts.maximum": "1",
        "spark.hadoop.fs.s3a.bucket.open.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
        ),
        "spark.hadoop.fs.s3a.endpoint.region": "us",
    }


def test_settings_of_the_project_go_before_and_nothing_is_asked_for_until_they_are_read():
    found, secrets = storage_options_of(LAKE)
    settings = SettingsWithBuckets({"spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://other"}, found)
    assert secrets.read_values == {}
    assert settings["spark.hadoop.fs.s3a.bucket.lake.endpoint"] == "http://other"
    assert secrets.read_values == ENV
    assert len(settings) == len(list(settings)) == 8


def test_a_credential_that_is_not_there_names_its_line_and_not_what_stands_there():
    storage_options_of(LAKE, env={"KEY": "key-1"})
    with pytest.raises(InputError, match=r"^conf/project\.yml:4:3: the environment variable named by") as it:
        deltalake_options("s3://lake/x")
    assert "'secret_key'" in str(it.value)


def test_credentials_come_from_files_too_and_show_nothing(tmp_path):
    (tmp_path / "secret").write_text("hunter2222\n")
    (found,), secrets = storage_options_of(LAKE, env={"KEY": "key-1", "SECRET_FILE": str(tmp_path / "secret")})
    assert found.credentials() == StoreCredentials("key-1", "hunter2222")
    assert "hunter2222" not in repr(found.credentials()) + repr(found) + str(found)
    assert secrets.read_values == ENV


def test_a_project_says_it_when_it_is_opened(tmp_path):
    (tmp_path / "project.yml").write_text("project: p\nstorage: {s3://lake: {access_key: KEY, secret_key: SECRET}}\n")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a.yml").write_text("asset: a\nsource: true\n")
    Project.load(tmp_path, env=ENV)
    assert deltalake_options("s3a://lake/x") == {"aws_access_key_id": "key-1", "aws_secret_access_key": ENV["SECRET"]}
    (tmp_path / "project.yml").write_text("project: p\n")
    Project.load(tmp_path, env=ENV)
    assert deltalake_options("s3a://lake/x") == {}


def test_arrow_takes_from_the_environment_what_is_not_said(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:9")
    found, other = storage_options_of(LAKE, OPEN)[0]
    assert arrow_options(found)["endpoint_override"] == "http://minio:9000"
    assert arrow_options(other) == {"endpoint_override": "http://localhost:9", "scheme": "http", "anonymous": True}
