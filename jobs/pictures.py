"""`make pictures`: the pictures of the README and the pages, made from the demo project so that they stay true.

Terminal output becomes SVG by rich; the report is photographed by Chromium, light and dark. All go to `docs/pictures/`.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from jobs.demo import HOME, STEPS
from jobs.landing import land_dimensions

PICTURES = HOME / "docs/pictures"
COLUMNS = 118
CLOCK = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
RUN_ID = re.compile(r"; \w+-\d{8}T\d{6}-\w+")
NOISE = re.compile(r"^WARNING: .*\n", re.MULTILINE)  # of the JVM
REMOTE_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # pages fetch nothing from elsewhere
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Runs the demo's first three steps and takes the pictures at the third: a corrected day."""
    shutil.rmtree(HOME / ".demo", ignore_errors=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    landing = HOME / ".demo/landing"
    land_dimensions(landing)
    for _, land in STEPS[:2]:
        land(landing)
        output_of("run")
    STEPS[2][1](landing)
    draw("plan", output_of("plan", in_terminal=True))
    draw("explain delays_7d", output_of("explain", "delays_7d", in_terminal=True))
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("no Chromium: the pictures of the report are left as they are", file=sys.stderr)
    else:
        photograph_report(browser)
        photograph_ui(browser)
    draw("run", output_of("run"))
    return 0


def output_of(*arguments: str, in_terminal: bool = False) -> str:
    """What a command prints on stdout and stderr; in a terminal it prints in colour and wraps."""
    command = [sys.executable, "-m", "sparkassets", *arguments, "--project", str(HOME / "conf")]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    if not in_terminal:
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
        return done.stdout.decode()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as process:  # noqa: S603
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, printed)
    return printed.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """The next bytes of a terminal; none once its other end is closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def draw(command: str, printed: str) -> None:
    """Writes a command and its output as ``<command>.svg``, without what differs at each start."""
    name, *_ = command.split()
    text = NOISE.sub("", RUN_ID.sub("", CLOCK.sub(r"\1", printed))).rstrip() + "\n"
    console = Console(record=True, width=COLUMNS, file=Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    console.print(f"[bold green]$[/] [bold]sparkassets {command}[/]")
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="sparkassets", theme=DIMMED_MONOKAI, unique_id=name)
    (PICTURES / f"{name}.svg").write_text(REMOTE_FONTS.sub("", svg), encoding="utf-8")


def photograph_report(browser: str) -> None:
    """Writes the report's first page as ``report-light.png`` and ``report-dark.png``."""
    with tempfile.TemporaryDirectory() as folder:
        output_of("report", "--out", f"{folder}/report")
        photograph_both(browser, f"file://{folder}/report/index.html", "report")


def photograph_ui(browser: str) -> None:
    """Writes an asset of the live page as ``ui-light.png`` and ``ui-dark.png``."""
    options = ["--allow-actions", "--port", "0", "--project", str(HOME / "conf")]
    command = [sys.executable, "-m", "sparkassets", "ui", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        address = process.stdout.readline().strip() if process.stdout else ""
        photograph_both(browser, f"{address}#/asset/delays_7d", "ui")
        process.terminate()


def photograph_both(browser: str, page: str, name: str) -> None:
    """Has a browser draw a page light and dark."""
    for word, scheme in (("light", 1), ("dark", 0)):
        photograph(browser, page, PICTURES / f"{name}-{word}.png", scheme=scheme)


def photograph(browser: str, page: str, picture: Path, *, scheme: int) -> None:
    """Has a browser draw a page; ``scheme`` is Blink's number of a colour scheme."""
    options: Sequence[str] = (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        "--window-size=1200,760",
        "--virtual-time-budget=5000",
        "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--screenshot={picture}",
    )
    subprocess.run([browser, *options, page], check=True, capture_output=True, timeout=120)  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
