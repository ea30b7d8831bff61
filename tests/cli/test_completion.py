"""Completion in a shell, by click's protocol and in a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkassets.cli.app import SHELLS, VARIABLE

BIN = Path(sys.executable).parent


@pytest.fixture
def completed(shop, run_cli, monkeypatch):
    """What completes a line, as bash is told."""

    def ask(line):
        monkeypatch.setenv(VARIABLE, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        code, out, err = run_cli()
        monkeypatch.delenv(VARIABLE)
        assert (code, err) == (0, "")
        return [item.partition(",")[2] for item in out.split()]

    return ask


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sparkassets pa", ["pause", "partitions"]),
        ("sparkassets explain ", ["orders", "daily_revenue", "best_shops"]),
        ("sparkassets explain da", ["daily_revenue"]),
        ("sparkassets pause orders b", ["best_shops"]),
        ("sparkassets align orders d", ["daily_revenue"]),
        ("sparkassets events add o", ["orders"]),
        ("sparkassets events list --asset o", ["orders"]),
        ("sparkassets run --select b", ["best_shops"]),
        ("sparkassets run --select orders,+d", ["orders,+daily_revenue"]),
        ("sparkassets explain --project conf d", ["daily_revenue"]),
        ("sparkassets explain --project nowhere d", []),
        ("sparkassets completion z", ["zsh"]),
        ("sparkassets plan --js", ["--json"]),
        ("sparkassets nonsense x", []),
    ],
)
def test_a_line(completed, line, found):
    assert sorted(completed(line)) == sorted(found)


def test_a_project_that_is_wrong_completes_nothing_and_says_nothing(completed, shop):
    (shop / "assets/orders.yml").write_text("asset: [")
    assert completed("sparkassets explain ") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(run_cli, shell):
    code, out, err = run_cli("completion", shell)
    assert (code, err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in out


def test_a_shell_that_is_not_known(run_cli):
    code, _, err = run_cli("completion", "csh")
    assert (code, err.partition("\n")[0]) == (
        2,
        "error: invalid value for '{bash|zsh|fish}': 'csh' is not one of 'bash', 'zsh', 'fish'",
    )


@pytest.mark.skipif(not (shutil.which("bash") and (BIN / "sparkassets").exists()), reason="needs bash and the command")
@pytest.mark.usefixtures("shop")
def test_in_a_real_bash():
    typed = (
        'eval "$(sparkassets completion bash)"; complete -p sparkassets; '
        "COMP_WORDS=(sparkassets explain be); COMP_CWORD=2; _sparkassets_completion sparkassets; echo ${COMPREPLY[@]}"
    )
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", typed], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].endswith("-F _sparkassets_completion sparkassets")
    assert done.stdout.splitlines()[1] == "best_shops"


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sparkassets", "plan", "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: sparkassets plan")
