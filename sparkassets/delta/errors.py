"""What deltalake's errors say, in one line for people; and whether a Spark session knows more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sparkassets.delta.log_faults import fault_of
from sparkassets.errors import SessionNeededError, SourceError

_LAYERS = r"^(?:(?:C Data interface|External|Kernel|Generic delta kernel|Arrow|Parquet) error: )+"
_COLOUR = r"\x1b\[\d*m"
_BODY = r":?\s*<(?:\?xml|[Ee]rror).*"
_CODE = r"<Code>([^<]+)</Code>"
_LOG_PATH: Final = r"""ParsedLogPath \{.*?filename: "([^"]*)".*?file_type: \w+(?: \{[^{}]*\})? \}"""
"""How the library prints a file of a log: its inner structure instead of its name."""
_LONGEST = 500
_UNKNOWN: Final = r"Feature '([^']+)' is not supported"
_MANAGED: Final = "catalog-managed"


def reason(error: BaseException) -> str:
    r"""What an error of deltalake says: its causes without its layers, colours and back trace.

    >>> reason(OSError("Kernel error: cannot write\n  ↳ No space left on device\n  0: at commit.rs"))
    'cannot write: No space left on device'
    >>> reason(OSError("404 Not Found: <?xml version='1.0'?>\n<Error><Code>NoSuchBucket</Code></Error>"))
    '404 Not Found: NoSuchBucket'
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [re.sub(_COLOUR, "", line).strip() for line in lines[1:]]
    lines[0] = re.sub(_LOG_PATH, r"\1", lines[0])
    text = ": ".join(
        [re.sub(_LAYERS, "", lines[0].strip()), *(line[1:].strip() for line in causes if line.startswith("↳"))]
    )
    if (body := re.search(_BODY, text)) is not None:
        code = re.search(_CODE, str(error))
        text = text[: body.start()] + (f": {code[1]}" if code is not None else "")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _fault(path: str) -> str | None:
    """The missing or broken file of a local table's log."""
    return None if "://" in path else fault_of(Path(path))


def unreadable(path: str, error: BaseException) -> SourceError:
    """What is raised for a table that deltalake cannot open."""
    message = f"cannot read the Delta table at '{path}': {reason(error)}"
    if _MANAGED in str(error):
        return SourceError(
            message,
            hint="its catalog has its newest commits: read and write it by its name, 'table: catalog.schema.name'",
        )
    if (found := re.search(_UNKNOWN, str(error))) is not None:
        return SessionNeededError(message, why=f"it has {found[1]}")
    if (fault := _fault(path)) is not None:
        return SourceError(f"cannot read the Delta table at '{path}': {fault}")
    return SourceError(message)
