"""Why the same code may return other rows for the same input, as far as the text of a query says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sparkassets.core.definitions.definition import AssetDefinition
from sparkassets.core.query_text import words

_VARYING: Final = re.compile(
    r"CURRENT_\w+|NOW|LOCALTIME\w*|RAND\w*|UUID|SHUFFLE|MONOTONICALLY_INCREASING_ID|INPUT_FILE_\w+"
)
"""Functions whose results differ between runs although the input is the same."""
_ORDER_DEPENDENT: Final = re.compile(
    r"ANY_VALUE|ARRAY_AGG|COLLECT_\w+|FIRST|FIRST_VALUE|LAG|LAST|LAST_VALUE|LEAD|LIMIT|LISTAGG|MAX_BY|MIN_BY|MODE|NTILE"
    r"|ROW_NUMBER|STRING_AGG|TABLESAMPLE"
)
"""Words whose result depends on the order of rows, which Spark does not promise where values are equal."""
_STEADY_TEMPLATE: Final = re.compile(r"\{\{ (inlets|params|partition|partitions)\b.*\}\}", re.DOTALL)
"""Templates that render to the same text whenever the same partitions are computed."""


def is_steady(definition: AssetDefinition) -> bool:
    """Whether a query has no value that differs by run, such as ``now()`` or a template of the run's time.

    >>> [is_steady(AssetDefinition.build(text=text)) for text in ("SELECT a FROM x", "SELECT NOW ( ) AS a", "")]
    [True, False, False]
    """
    return bool(definition.text) and not any(_iterate_varying(definition))


def find_unstable_words(definition: AssetDefinition) -> tuple[str, ...]:
    """The functions by which two runs of a query on the same input may return other rows, each once.

    >>> find_unstable_words(AssetDefinition.build(text="SELECT RAND ( ) AS a , FIRST ( b ) AS b FROM x"))
    ('RAND', 'FIRST')
    """
    unstable = (word for word in words(definition.text) if _VARYING.fullmatch(word) or _ORDER_DEPENDENT.fullmatch(word))
    return tuple(dict.fromkeys(unstable))


def _iterate_varying(definition: AssetDefinition) -> Iterator[str]:
    """The words whose values differ by run."""
    for word in words(definition.text):
        if "{%" in word or ("{{" in word and not _STEADY_TEMPLATE.fullmatch(word)) or _VARYING.fullmatch(word.upper()):
            yield word
