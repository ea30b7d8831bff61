"""A path with fields and globs: ``*`` and ``?`` within a name, ``**`` for folders of any depth.

A folder that the whole pattern matches stands for the files in it, as in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, time, timedelta
from functools import cached_property
from itertools import chain, pairwise, takewhile

from sparkassets.core.partitions import (
    YEARS,
    PartitionError,
    Partitioning,
    RangeSet,
    Segment,
    SegmentPartition,
    TimePartition,
)
from sparkassets.core.patterns.pattern_fields import PatternError, SegmentField, TimeField
from sparkassets.frozen import frozen

_FORMATS = {
    "minute": "%Y%m%d%H%M",
    "hour": "%Y%m%d%H",
    "day": "%Y%m%d",
    "week": "%G-W%V",
    "month": "%Y%m",
    "quarter": "%Y%m",
    "year": "%Y",
}
"""By the precision of a partition's slots."""
_SOME_DAY = 1_357_365_600
"""2013-01-05T06:00Z, for examples."""
_GLOBS = {"*": "[^/]*", "?": "[^/]", "**/": "(?:[^/]+/)*"}
_FILE_IN_FOLDER = "(?:/[^/]+)?"

Token = str | TimeField | SegmentField
"""A piece of a pattern: literal text, ``*``, ``?``, ``**/``, or a field."""


@frozen(has_dict=True)
class PathPattern:
    """A path of files, parsed.

    Attributes:
        text: As it was written.
        root: The longest folder prefix without a pattern; for a path without a pattern the path itself.
        tokens: What follows the root and its slash.
        field: The time field, if there is one.
        segments: The fields of segments, in the order of the columns that were given.

    >>> pattern = PathPattern.parse("landing/{day:%Y%m%d}/*.csv")
    >>> pattern.root, pattern.fields, pattern.match("landing/20130105/a.csv")
    ('landing', ('day',), '20130105')
    """

    text: str
    root: str
    tokens: tuple[Token, ...]
    field: TimeField | None
    segments: tuple[SegmentField, ...] = ()

    @classmethod
    def parse(cls, text: str, segments: Collection[str] = ()) -> PathPattern:
        """Reads a pattern; ``segments`` are the columns of segments, whose fields have no format.

        Raises:
            PatternError: With the offending piece, and what is expected.
        """
        if not text:
            raise PatternError("the path is empty")
        tokens = tuple(_tokens(text.rstrip("/") or "/", segments))
        literals = [*takewhile(_is_literal, tokens)]  # the root reaches to the last slash in these
        before = "".join(map(str, literals))
        if len(literals) == len(tokens):
            return cls(text, before, (), None)
        root, slash, rest = before.rpartition("/")
        if root.endswith(":/"):
            raise PatternError(f"the path {text!r} must name its bucket or container before any pattern")
        relative = (*filter(None, [rest]), *tokens[len(literals) :])
        _check_brackets(text, relative)
        named = {token.name: token for token in tokens if isinstance(token, SegmentField)}
        found = tuple(filter(None, map(named.get, segments)))
        return cls(text, root or slash or ".", relative, _one_field(tokens), found)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields, that of time first."""
        time = () if self.field is None else (self.field.name,)
        return (*time, *(each.name for each in self.segments))

    @property
    def is_pattern(self) -> bool:
        """Whether anything in the path varies; else it is one file, or a folder whose files are meant."""
        return bool(self.tokens)

    @cached_property
    def regex(self) -> str:
        """Finds the end of a matching file's path; group 1 is the time field's text. Empty without a pattern.

        For Python's ``search`` and Spark's ``regexp_extract`` alike.
        """
        return f"(?:^|/){_regex(self.tokens)}{_FILE_IN_FOLDER}$" if self.tokens else ""

    @cached_property
    def _exact(self) -> re.Pattern[str]:
        """Matches a whole path relative to the root, or the path of a file in a folder that the pattern matches."""
        return re.compile(_regex(self.tokens) + _FILE_IN_FOLDER)

    @cached_property
    def _segment_regex(self) -> re.Pattern[str]:
        """`_exact` with a named group for each field of segments, and none for the time field."""
        named = (
            f"(?P<{token.name}>{token.regex})"
            if isinstance(token, SegmentField)
            else _regex([token]).replace("(", "(?:", 1)
            if isinstance(token, TimeField)
            else _regex([token])
            for token in self.tokens
        )
        return re.compile("".join(named) + _FILE_IN_FOLDER)

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        """`_exact` with anything in place of the fields, to recognise misnamed files."""
        return re.compile(_regex(self._globs) + _FILE_IN_FOLDER)

    @cached_property
    def _globs(self) -> tuple[str, ...]:
        """The tokens with anything at all in place of the fields."""
        spread = ((token,) if isinstance(token, str) else token.globs for token in self.tokens)
        return tuple(chain.from_iterable(spread))

    @cached_property
    def _folders(self) -> tuple[re.Pattern[str], ...]:
        """One expression for each name below the root, up to the first ``**``."""
        names = [""]
        for piece in self._globs:
            if piece == "**/":
                names.pop()  # an empty name: `**/` follows a slash, or the root
                break
            first, *more = [piece] if piece in _GLOBS else piece.split("/")
            names[-1] += _regex([first])
            names += [_regex([name]) for name in more]
        return tuple(re.compile(name) for name in names)

    @property
    def fixed_folders(self) -> int:
        """How many folders deep the pattern names each folder by itself; below it enters whatever there is.

        >>> [PathPattern.parse(f"in/{text}").fixed_folders for text in ("{day}/*.csv", "{day}/**/*.csv", "")]
        [2, 1, 0]
        """
        return len(self._folders) if self.tokens else 0

    def may_match_below(self, depth: int, name: str) -> bool:
        """Whether files may match below a folder called ``name``; ``depth`` is 1 for a folder directly in the root.

        Without a pattern only folders such as ``country=nl`` are entered, as in Spark.
        """
        if not self.tokens:
            return "=" in name
        if depth <= len(self._folders):
            return self._folders[depth - 1].fullmatch(name) is not None
        return "**/" in self.tokens

    def match(self, path: str) -> str | None:
        """The time field's text in a file's path, ``""`` without one; None where the path does not match.

        Args:
            path: Whole, or relative to ``root``.
        """
        if not self.tokens:
            return ""
        found = self._exact.fullmatch(self._relative(path))
        if found is None:
            return None
        return found[1] if self.field else ""

    def segments_of_path(self, path: str) -> Segment | None:
        """The tuple of segments in a path that matches; None where one of them is Spark's folder of no value.

        >>> pattern = PathPattern.parse("landing/{region}/{day:%Y%m%d}/*.csv", ["region"])
        >>> pattern.segments_of_path("landing/nl/20130105/a.csv"), pattern.match("landing/nl/20130105/a.csv")
        (('nl',), '20130105')
        """
        found = self._segment_regex.fullmatch(self._relative(path)) if self.segments else None
        if found is None:
            return ()  # `match` says whether the path matches at all
        segment = tuple(each.segment(found[each.name]) for each in self.segments)
        return None if None in segment else tuple(each for each in segment if each is not None)

    def slot_of_path(self, path: str, partitioning: Partitioning) -> tuple[Segment, tuple[int, int]] | None:
        """(segments, (start, end) in Unix seconds) of a path; None if it does not match, or a field names no value."""
        text, segment = self.match(path), self.segments_of_path(path)
        time = None if text is None else self.time_of_text(text, partitioning)
        return None if segment is None or time is None else (segment, time)

    def resembles(self, path: str) -> bool:
        """Whether the path would match if anything could stand for the field: a misnamed file."""
        return self._loose.fullmatch(self._relative(path)) is not None

    def _relative(self, path: str) -> str:
        prefix = self.root.rstrip("/") + "/"
        return path.removeprefix(prefix)

    def _check_without_time(self, of: str) -> None:
        """Refuses a time field for an asset without a dimension of time; ``of`` as in `check_time`."""
        if self.field:
            name = self.field.name
            segments = f"add 'partition: {{segments: runtime, column: {name}}}'"
            days = f"add 'partition: {{by: day, column: {name}}}', or write '*' for the field"
            raise PatternError(f"the field {{{name}}} needs a partition", hint=segments if of == "table" else days)

    def check_time(self, partition: TimePartition | None, *, of: str = "file") -> None:
        """Refuses a pattern that cannot tell the slots of ``partition``.

        Args:
            partition: The dimension of time.
            of: What the path leads to.

        Raises:
            PatternError: What does not fit, and how it can be written.
        """
        if partition is None:
            self._check_without_time(of)
            return
        form = _FORMATS[partition.precision]
        name = partition.column or (self.field.name if self.field else partition.name)
        key, write = partition.key(partition.floor(_SOME_DAY)), f"write {{{name}:{form}}}"
        if self.field is None:
            raise PatternError(
                f"{self.text!r} does not identify the {partition.noun} of a {of}",
                hint=f"write {{{name}}} in place of {key}, or {{{name}:{form}}}" if ":" not in key else write,
            )
        if self.field.name != name:
            raise PatternError(
                f"the field {{{self.field.name}}} is not the partition's column {name!r}",
                hint=f"write {{{name}}} instead, or 'column: {self.field.name}' in the partition",
            )
        self._check_precision(self.field, partition, key=key, hint=write)

    @staticmethod
    def _check_precision(field: TimeField, partition: TimePartition, *, key: str, hint: str) -> None:
        """Refuses a field whose text is not valid in file names, or fits several slots."""
        is_valid_in_paths = ":" not in key
        if not field.parts and not is_valid_in_paths:
            raise PatternError(
                f"the field {{{field.name}}} stands for keys such as {key}, which are not valid in file names",
                hint=hint,
            )
        if not field.determines(partition.precision):
            given = " ".join(f"%{letter}" for letter in field.directives) or "no directive"
            raise PatternError(
                f"the field {{{field.name}}} has {given}, which does not identify one {partition.noun}",
                hint=f"{hint}, or {{{field.name}}} for {key}" if is_valid_in_paths else hint,
            )

    def check_segments(self, partitions: Sequence[SegmentPartition], *, of: str = "file") -> None:
        """Refuses a pattern that does not tell the segments of each of these dimensions.

        Raises:
            PatternError: Which column has no field, and how it can be written.
        """
        for each in partitions:
            if each.column not in self.fields:
                raise PatternError(
                    f"{self.text!r} does not identify the {each.column} of a {of}",
                    hint=f"write {{{each.column}}} in place of the segment{_example_segment(each)}",
                )

    def slot_of_text(self, text: str, partition: TimePartition) -> tuple[int, int] | None:
        """The time of a file by its field's text, Unix seconds, half-open; None when the text names no slot.

        A format has no offset: its text for a repeated local hour has the time of both.
        """
        if self.field is None:
            return None
        if not self.field.parts:
            return _slot_of_key(partition, text)
        local = self.field.local(text)
        if local is None:
            return None
        if self.field.has_hours:
            return partition.slot_of_local_time(local)
        return partition.slot_of_date(local.date()) if self.field.has_days else partition.slot_of_key_date(local.date())

    def time_of_text(self, text: str, partitioning: Partitioning) -> tuple[int, int] | None:
        """`slot_of_text`; without a dimension of time all time for partitions by segments, and none without these."""
        if partitioning.time is not None:
            return self.slot_of_text(text, partitioning.time)
        always = RangeSet.always()
        return (always.first, always.last) if partitioning.segments else (0, 0)

    def is_outside_calendar(self, text: str) -> bool:
        """Whether a text without a slot names a time all the same, outside the years of partitions."""
        if self.field is None:
            return False
        if self.field.parts:
            local = self.field.local(text)
            return local is not None and local.year not in YEARS
        year = text[:4]  # every key begins with it
        return year.isascii() and year.isdigit() and int(year) not in YEARS

    def extent(self, start: int, partition: TimePartition) -> tuple[int, int]:
        """The time of the files of the slot that begins at ``start``, as `slot_of_text` returns it for their names."""
        return (
            partition.slots_of_local_start(start) if self.field and self.field.parts else (start, partition.next(start))
        )

    def render(self, start: int, partition: TimePartition) -> str:
        """A glob for the files of the slot that begins at ``start``, so that a look lists no others.

        Where the field is finer than the slot, the glob may match files of other slots too; `slot_of_path` decides.
        """
        if self.field is None:
            return self.text
        if self.field.parts:
            written = self.field.write(*_local_extent(self.field, start, partition))
        else:
            written = partition.key(start)
        relative = "".join(
            written if isinstance(token, TimeField) else "*" if isinstance(token, SegmentField) else token
            for token in self.tokens
        )
        return relative if self.root == "." else f"{self.root.rstrip('/')}/{relative}"


def _local_extent(field: TimeField, start: int, partition: TimePartition) -> tuple[datetime, datetime]:
    """The first and the last local time that a field may name of the slot that begins at ``start``."""
    if field.has_hours:
        return partition.local_start(start), partition.local_last(start)
    tells = partition.first_date if field.has_days else partition.key_date
    first, after = tells(start), tells(partition.stop(start))
    return datetime.combine(first, time()), datetime.combine(after, time()) - timedelta(days=1)


def _example_segment(partition: SegmentPartition) -> str:
    return f" such as {partition.keys[0]!r}" if partition.keys else ""


def _slot_of_key(partition: TimePartition, key: str) -> tuple[int, int] | None:
    try:
        return partition.parse_key(key)
    except PartitionError:
        return None  # any file may have such a name


def _is_literal(token: Token) -> bool:
    return isinstance(token, str) and token not in _GLOBS


def _tokens(text: str, segments: Collection[str]) -> Iterator[Token]:
    """Splits a pattern into literal text, globs (``*``, ``?``, ``**/``) and fields, in order.

    Raises:
        PatternError: A brace has no partner, a field is none, or ``**`` is not a folder of its own.
    """
    position = 0
    for found in re.finditer(r"\*\*/|\*+|\?|\{[^{}]*\}|[{}]", text):
        if found.start() > position:
            yield text[position : found.start()]
        position, piece = found.end(), found[0]
        if piece in {"{", "}"}:
            raise PatternError(
                f"the path {text!r} has an unmatched '{piece}' at character {found.start() + 1}",
                hint="a field is written {day} or {day:%Y%m%d}",
            )
        if piece.startswith("**") and (piece != "**/" or text[: found.start()][-1:] not in {"", "/"}):
            raise PatternError(
                f"'**' in the path {text!r} must be a whole folder name",
                hint="write '/**/' for folders of any depth, '*' for any name",
            )
        yield _field(piece, segments, before=text[: found.start()]) if piece[0] == "{" else piece
    if position < len(text):
        yield text[position:]


def _field(piece: str, segments: Collection[str], *, before: str) -> TimeField | SegmentField:
    """Reads a field with its braces: of segments if it is named like one of their columns, else of time.

    After a text ``before`` it that ends with ``region=``, values are escaped as in Spark's folders (``of_folder``).
    """
    field = TimeField.parse(piece)
    if field.name not in segments:
        return field
    if field.parts:
        raise PatternError(
            f"the field '{piece}' has a format, but {field.name!r} is a column of segments",
            hint=f"write {{{field.name}}}",
        )
    return SegmentField(field.name, of_folder=before.endswith(f"{field.name}="))


def _one_field(tokens: Sequence[Token]) -> TimeField | None:
    """The only time field of a pattern; None without one.

    Raises:
        PatternError: A field occurs twice, two fields are time, or a field's end cannot be determined from what
        follows.
    """
    names = [token.name for token in tokens if not isinstance(token, str)]
    fields = [token for token in tokens if isinstance(token, TimeField)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PatternError(f"the field {{{twice}}} is used twice", hint="write '*' where it repeats")
    if len(fields) > 1:
        listed = " and ".join(f"{{{field.name}}}" for field in fields)
        raise PatternError(
            f"at most one field may be time; found {listed}",
            hint="fields of segments are named like the dimension's column; write '*' for any other part",
        )
    _check_ends(tokens)
    return fields[0] if fields else None


def _check_ends(tokens: Sequence[Token]) -> None:
    """Refuses a field of segments next to another one, ``*`` or ``?``: nothing tells where the one ends."""
    for first, second in pairwise(tokens):
        pieces = [f"{{{each.name}}}" if not isinstance(each, str) else each for each in (first, second)]
        open_ = [isinstance(each, SegmentField) or each in {"*", "?"} for each in (first, second)]
        if all(open_) and not (isinstance(first, str) and isinstance(second, str)):
            raise PatternError(
                f"{pieces[0]} and {pieces[1]} need a separator between them",
                hint="write what stands between them",
            )


def _check_brackets(text: str, tokens: Sequence[Token]) -> None:
    """Refuses character sets such as ``[ab]``: they would be taken for literal text."""
    if any(isinstance(token, str) and re.search(r"[\[\]]", token) for token in tokens):
        raise PatternError(
            f"the path {text!r} contains brackets; character sets are not supported", hint="write '?' or '*'"
        )


def _regex(tokens: Sequence[Token]) -> str:
    """The regular expression of the tokens; its only capturing group is the time field's text."""
    return "".join(
        token.regex
        if isinstance(token, SegmentField)
        else f"({token.regex})"
        if isinstance(token, TimeField)
        else _GLOBS.get(token, re.escape(token))
        for token in tokens
    )
