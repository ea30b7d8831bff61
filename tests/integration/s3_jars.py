"""The jars of Hadoop's file system for S3, with its committer and Spark's binding to it, fetched once into the cache.

Of Amazon's libraries those that it needs: 14 MB, where the bundle that ``hadoop-aws`` names has 690.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pyspark

from sparkassets.cache import cache_folder
from sparkassets.spark.java import find_java

HADOOP, SPARK_CLOUD, AMAZON, ANALYTICS = "3.5.0", "4.1.2", "2.35.4", "1.3.1"
"""Of one another; Spark's module is not published for 4.2.0, and has not changed."""

MODULE = f"""<ivy-module version="2.0">
  <info organisation="sparkassets" module="s3"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.hadoop" name="hadoop-aws" rev="{HADOOP}" conf="default->master"/>
    <dependency org="org.apache.spark" name="spark-hadoop-cloud_2.13" rev="{SPARK_CLOUD}" conf="default->master"/>
    <dependency org="software.amazon.s3.analyticsaccelerator" name="analyticsaccelerator-s3" rev="{ANALYTICS}"
      conf="default->master"/>
    <dependency org="software.amazon.awssdk" name="s3" rev="{AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="s3-transfer-manager" rev="{AMAZON}" conf="default->default"/>
    <dependency org="software.amazon.awssdk" name="sts" rev="{AMAZON}" conf="default->default"/>
    <exclude org="^(org.slf4j|io.netty|commons-codec|commons-logging)$" matcher="regexp"/>
  </dependencies>
</ivy-module>
"""
SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root="{repository}"/></resolvers>
</ivysettings>
"""


def s3_jars() -> list[Path]:
    """The jars, sorted; none where they cannot be had.

    Raises:
        LookupError: Which they would be is not known for the Hadoop that Spark has.
    """
    spark_jars = Path(pyspark.__file__).parent / "jars"
    if not (spark_jars / f"hadoop-client-api-{HADOOP}.jar").exists():
        raise LookupError(f"the jars for S3 are known for Hadoop {HADOOP}, which is not this Spark's")
    folder = cache_folder() / "s3" / f"{HADOOP}-{SPARK_CLOUD}-{AMAZON}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-", ignore_cleanup_errors=True) as work:
            _fetch(Path(work), spark_jars)
            if not any(Path(work, "jars").glob("sts-*.jar")):
                return []
            Path(work, "jars").rename(folder)
    return sorted(folder.glob("*.jar"))


def _fetch(work: Path, spark_jars: Path) -> None:
    repository = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY", "https://repo1.maven.org/maven2/")
    (work / "ivy.xml").write_text(MODULE)
    (work / "settings.xml").write_text(SETTINGS.format(repository=repository))
    command = [
        *(str(find_java().command), "-cp", str(spark_jars / "*"), "org.apache.ivy.Main", "-warn"),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml"), "-cache", str(work / "cache")),
        *("-types", "jar", "-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"),
    ]
    subprocess.run(command, capture_output=True, check=False, timeout=300)
