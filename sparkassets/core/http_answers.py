"""What the server of a catalog answers, in the errors of Spark: a sentence in place of a document."""

from __future__ import annotations

import json
import re
from typing import Final

_ANSWER: Final = re.compile(r" (?:\(HTTP (?P<status>\d+)\):|call failed with: (?P<failed>\d+) -) (?P<body>\{.*\}|null)")


def quote_http_answers(text: str) -> str:
    """The text, in which only its message is left of a catalog server's answer.

    >>> quote_http_answers('cannot load a (HTTP 401): {"code":"UNAUTHENTICATED","message":"Invalid token."}')
    'cannot load a (HTTP 401): Invalid token.'
    >>> quote_http_answers('createTable call failed with: 404 - {"message":"Catalog not found: main"}')
    'createTable call failed (HTTP 404): Catalog not found: main'
    >>> quote_http_answers("cannot load a (HTTP 0): null")
    'cannot load a: the server of the catalog does not answer'
    """
    return _ANSWER.sub(_quote_message, text)


def _quote_message(answer: re.Match[str]) -> str:
    """The message in an answer, with its status; the answer itself where it is no document with a message."""
    status, call = answer["status"] or answer["failed"], " call failed" if answer["failed"] else ""
    if status == "0":
        return f"{call}: the server of the catalog does not answer"
    try:
        message = json.loads(answer["body"])["message"]
    except (ValueError, KeyError, TypeError):
        return answer[0]
    return f"{call} (HTTP {status}): {message}"
