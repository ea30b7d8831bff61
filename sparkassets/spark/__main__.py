"""``python -m sparkassets.spark`` fetches the jars that a start of Spark needs, for an image that is to hold them."""

from __future__ import annotations

import sys

from sparkassets.spark.session_settings import delta_jars

if __name__ == "__main__":
    sys.stdout.writelines(f"{jar}\n" for jar in delta_jars())
