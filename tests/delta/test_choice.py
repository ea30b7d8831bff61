"""Who commits to an asset's table, where its name and place tell."""

from dataclasses import replace

import pytest

from sparkassets.core.spec.storage_location import StorageLocation
from sparkassets.delta.features import spark_commit_reason, spark_creation_reason
from tests.builders import asset


@pytest.mark.parametrize(
    ("name", "path", "commit", "reason"),
    [
        ("daily", "/lake/daily", "auto", None),
        ("daily", "file:///lake/daily", "auto", None),
        ("daily", "s3a://lake/daily", "auto", None),
        ("daily", "/lake/daily", "spark", "the asset says 'commit: spark'"),
        ("_daily", "/lake/daily", "auto", "files in folders with its name would be hidden from VACUUM"),
        ("daily", "gs://lake/daily", "auto", "its table is neither on a local disk nor on S3"),
    ],
)
def test_asset_and_place_tell_who_commits(name, path, commit, reason):
    made = replace(asset(name, commit=commit), storage=StorageLocation(path, path))
    assert spark_commit_reason(made, None) == spark_creation_reason(made) == reason


def test_spark_makes_a_table_of_given_properties_and_the_driver_commits_to_it():
    made = replace(
        asset("daily", properties={"delta.logRetentionDuration": "interval 1 days"}),
        storage=StorageLocation("/lake/daily", "/lake/daily"),
    )
    assert spark_commit_reason(made, None) is None
    assert spark_creation_reason(made) == "the asset gives properties to its new table"
