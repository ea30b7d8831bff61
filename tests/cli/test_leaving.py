"""The process ends whatever threads somebody's functions have left."""

import subprocess
import sys
import time

import pytest

CODE = """
import sys, threading, time
import sparkassets.cli.app as app
import sparkassets.cli.app as leaving

leaving.PATIENCE_SECONDS = 0.5

def run_command(args):
    threading.Thread(target=time.sleep, args=({seconds},), name="poller", daemon={daemon}).start()
    return {code}

app.run_command = run_command
sys.argv = ["sparkassets"]
from sparkassets.cli import main
main()
"""
LEFT = "warning: the process ends without its threads 'poller', which a function has left running\n"


@pytest.mark.parametrize(
    ("seconds", "daemon", "code", "told"),
    [(600, False, 1, LEFT), (600, False, 0, LEFT), (600, True, 1, ""), (0.1, False, 3, "")],
)
def test_a_thread_that_never_ends_keeps_nobody(seconds, daemon, code, told):
    text = CODE.format(seconds=seconds, daemon=daemon, code=code)
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, told)
    assert time.monotonic() - begin < 30
