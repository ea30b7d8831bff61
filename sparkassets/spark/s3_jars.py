"""The jars of Hadoop's S3 file system, with its committer and Spark's binding to it, fetched once into the cache.

Only the needed libraries of Amazon: 14 MB instead of the 690 of the bundle that ``hadoop-aws`` names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sparkassets.cache import cache_folder
from sparkassets.spark.jars import JarFetch
from sparkassets.spark.java import JavaRuntime

HADOOP: Final = "3.5.0"
_SPARK_CLOUD, _AMAZON, _ANALYTICS = "4.1.2", "2.35.4", "1.3.1"
"""Versions that fit each other; Spark's module is not published for 4.2.0, and has not changed."""
_CLIENT = "hadoop-client-api-"
_MODULE = f"""<ivy-module version="2.0">
  <info organisation="sparkassets" module="s3"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.hadoop" name="hadoop-aws" rev="{HADOOP}" conf="default->master"/>
    <dependency org="org.apache.spark" name="spark-hadoop-cloud_2.13" rev="{_SPARK_CLOUD}" conf="default->master"/>
    <dependency org="software.amazon.s3.analyticsaccelerator" name="analyticsaccelerator-s3" rev="{_ANALYTICS}"
      conf="default->master"/>
    <dependency org="software.amazon.awssdk" name="s3" rev="{_AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="s3-transfer-manager" rev="{_AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="sts" rev="{_AMAZON}" conf="default->default"/>
    <exclude org="^(org.slf4j|io.netty|commons-codec|commons-logging)$" matcher="regexp"/>
  </dependencies>
</ivy-module>
"""


def s3_jars(spark_home: Path, java: JavaRuntime) -> list[Path]:
    """The jars, sorted; none for a Hadoop version whose jars are not known.

    Raises:
        SparkUnavailableError: They cannot be fetched.
    """
    if hadoop_version(spark_home) != HADOOP:
        return []
    folder = cache_folder() / "jars" / f"s3-{HADOOP}-{_SPARK_CLOUD}-{_AMAZON}"
    return JarFetch(f"the jars for S3 (hadoop-aws {HADOOP})", "hadoop-aws", _MODULE, folder).jars(spark_home, java)


def hadoop_version(spark_home: Path) -> str | None:
    """The version of the Hadoop that Spark ships; None where its jars do not say."""
    found = next((spark_home / "jars").glob(f"{_CLIENT}*.jar"), None)
    return None if found is None else found.stem.removeprefix(_CLIENT)
