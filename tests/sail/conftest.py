"""These tests start Sail in their process, where no session of Spark can be; `make test-sail` runs them."""

import os

if os.environ.get("SPARKASSETS_ENGINE") != "sail":
    collect_ignore_glob = ["test_*.py"]
