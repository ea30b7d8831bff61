"""Credentials are kept out of everything that is stored or shown."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"""(?ix)
    (?P<head>
        \b(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|sig|signature
           |x-amz-signature|x-amz-credential|x-amz-security-token|sas)
        ["']?\s*[=:]\s*["']?
      | \bbearer\s+
      | ://[^\s/:@]+:
    )
    (?P<secret>[^\s"'&;,@)}\]]+)
    """
)


def redact(text: str) -> str:
    """``text`` with ``***`` in place of passwords, tokens, keys and signatures.

    >>> redact("jdbc:postgresql://u:pw@h/db?password=x&a=1")
    'jdbc:postgresql://u:***@h/db?password=***&a=1'
    """
    return _SECRET.sub(lambda match: f"{match['head']}***", text)
