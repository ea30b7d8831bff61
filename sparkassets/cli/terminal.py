"""Where text for people goes: how wide it is, and whether it takes colour.

rich would know, too, but importing it costs a cold start a fifth of its half second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal, TextIO

from sparkassets.core.phrases import escape_invisible
from sparkassets.frozen import frozen

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_USUAL = {"COLUMNS": 80, "LINES": 24}
_LEAST = {"COLUMNS": 40, "LINES": 10}


@frozen
class Terminal:
    """A stream that people read.

    Attributes:
        width: Columns; None where no terminal is, and lines are as long as they are.
        height: Lines that are seen at once; None where no terminal is.
        colour: Whether escape codes are written.
        unicode: Whether the stream's encoding has lines and ticks.
    """

    stream: TextIO
    width: int | None = None
    height: int | None = None
    colour: bool = False
    unicode: bool = True

    @classmethod
    def from_stream(cls, stream: TextIO, env: Mapping[str, str] | None = None) -> Terminal:
        """What ``stream`` is; colour only on a terminal, and never where NO_COLOR is set or TERM is ``dumb``."""
        env = os.environ if env is None else env
        live = stream.isatty()
        return cls(
            stream,
            width=_size(stream, env, "COLUMNS") if live else None,
            height=_size(stream, env, "LINES") if live else None,
            colour=live and not env.get("NO_COLOR") and env.get("TERM") != "dumb",
            unicode=(getattr(stream, "encoding", None) or "ascii").lower().startswith("utf"),
        )

    def print(self, *lines: str) -> None:
        """Writes each line, without the blanks at its end, and with escapes for what nobody would see."""
        for line in lines:
            self.stream.write(escape_invisible(line.rstrip()) + "\n")

    def paint(self, text: str, *styles: str) -> str:
        """The text in these styles, or as it is where there is no colour."""
        codes = [_CODES[style] for style in styles if style]
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.colour and codes and text else text


def _size(stream: TextIO, env: Mapping[str, str], name: Literal["COLUMNS", "LINES"]) -> int:
    """One side of the terminal, as the environment or else the terminal itself says."""
    said = env.get(name, "")
    try:
        size = int(said) if said.isdecimal() else getattr(os.get_terminal_size(stream.fileno()), name.lower())
    except (OSError, ValueError):
        size = _USUAL[name]
    return max(_LEAST[name], size)


def strip_controls(text: str) -> str:
    r"""The text without control characters, which could move a terminal's cursor.

    >>> strip_controls("a\x1b[2Jb")
    'a?[2Jb'
    """
    return _CONTROL.sub("?", text)
