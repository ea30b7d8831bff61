"""What is loaded beside the start of Spark's JVM."""

import subprocess
import sys

from sparkassets.spark.session import MODULES

LOADING = """
import sys, time
from sparkassets.spark.session import warm_up
began = [name for name in {modules} if name in sys.modules]
warm_up()
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not all(name in sys.modules for name in {modules}):
    time.sleep(0.05)
print(len(began), sum(name in sys.modules for name in {modules}))
"""


def test_all_is_loaded_beside():
    code = LOADING.format(modules=MODULES)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert told.stdout.split() == ["0", str(len(MODULES))]


def test_nothing_of_pyspark_is_loaded_in_two_threads():
    assert not [name for name in MODULES if name.startswith("pyspark")]
