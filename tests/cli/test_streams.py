"""Where output goes, in real shells: a reader that leaves, a full disk, a closed stream."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

FULL_DISK = "error: the output cannot be written: No space left on device"
NO_SPACE = f"{FULL_DISK}\n  help: docs/troubleshooting.md#output-not-writable\n"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.fixture
def typed(shop):
    """What a line comes to that begins with the program: (exit code, stdout, stderr)."""

    def line(arguments):
        text = f"set -o pipefail; {shlex.quote(sys.executable)} -m sparkassets {arguments}"
        done = subprocess.run(
            ["bash", "-c", text], cwd=shop.parent, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    return line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("schema | true", (141, "", "")),
        ("plan >&-", (0, "", "")),
        ("explain nobody --json 2>&- | head -c 1", (2, "{", "")),
        pytest.param(*("plan >/dev/full", (1, "", NO_SPACE)), marks=FULL),
        pytest.param("explain nobody 2>/dev/full", (2, "", ""), marks=FULL),
    ],
)
def test_a_line(typed, arguments, expected):
    assert typed(arguments) == expected
