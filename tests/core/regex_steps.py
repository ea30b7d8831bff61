"""How many steps a regular expression takes on a text: counted by a plain backtracking matcher, not by a clock."""

from __future__ import annotations

import re
import sys
from re import _constants as op
from re import _parser as parser

_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


class TooManySteps(Exception):  # noqa: N818  it is a result
    """More than were allowed."""


class Steps:
    """Searches a text from its beginning to its end, as `finditer` and `sub` do.

    Attributes:
        taken: Comparisons of a character or a place, so far.
    """

    def __init__(self, pattern: re.Pattern[str], text: str, *, most: int) -> None:
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self.flags = self.tree.state.flags
        self.text, self.most, self.taken = text, most, 0
        self.groups: set[int] = set()

    def count(self, *, anchored: bool) -> int:
        """The steps; where ``anchored``, only from the first place, as `match` and `fullmatch` do."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 60_000))
        try:
            return self._count(anchored=anchored)
        finally:
            sys.setrecursionlimit(limit)  # other tests rely on Python's own: without it, the C stack overflows

    def _count(self, *, anchored: bool) -> int:
        position = 0
        while position <= len(self.text):
            self.groups.clear()
            end = self._match(list(self.tree), 0, position, lambda at: at)
            if anchored:
                break
            position = max(position + 1, end if end is not None else 0)
        return self.taken

    def _step(self) -> None:
        self.taken += 1
        if self.taken > self.most:
            raise TooManySteps

    def _match(self, items, index, at, then):  # noqa: C901, PLR0911  one case an operation of the expression
        if index == len(items):
            return then(at)
        kind, value = items[index]

        def rest(position):
            return self._match(items, index + 1, position, then)

        self._step()
        if kind in _SINGLE:
            return rest(at + 1) if at < len(self.text) and self._is(kind, value, self.text[at]) else None
        match kind:
            case op.AT:
                return rest(at) if self._at(value, at) else None
            case op.SUBPATTERN:
                number, *_, inside = value

                def close(position):
                    self.groups.add(number)
                    return rest(position)

                return self._match(list(inside), 0, at, close)
            case op.BRANCH:
                found = (self._match(list(each), 0, at, rest) for each in value[1])
                return next((each for each in found if each is not None), None)
            case op.MAX_REPEAT | op.MIN_REPEAT:
                return self._repeat(kind, value, at, rest)
            case op.POSSESSIVE_REPEAT:
                end = self._repeat(op.MAX_REPEAT, value, at, lambda position: position)
                return None if end is None else rest(end)
            case op.ATOMIC_GROUP:
                end = self._match(list(value), 0, at, lambda position: position)
                return None if end is None else rest(end)
            case op.ASSERT | op.ASSERT_NOT:
                direction, inside = value
                begin = at - inside.getwidth()[0] if direction < 0 else at
                found = None if begin < 0 else self._match(list(inside), 0, begin, lambda position: position)
                return rest(at) if (found is not None) == (kind is op.ASSERT) else None
            case op.GROUPREF_EXISTS:
                number, yes, no = value
                taken = yes if number in self.groups else no
                return self._match(list(taken or ()), 0, at, rest)
        raise NotImplementedError(kind)

    def _repeat(self, kind, value, at, rest):
        least, most, inside = value
        items = list(inside)
        if len(items) == 1 and items[0][0] in _SINGLE and kind is op.MAX_REPEAT:
            return self._run(least, most, items[0], at, rest)

        def again(count, position):
            def further(end):
                return again(count + 1, end) if end > position or count < least else None

            def take():
                return self._match(items, 0, position, further) if most is op.MAXREPEAT or count < most else None

            def leave():
                return rest(position) if count >= least else None

            first, second = (leave, take) if kind is op.MIN_REPEAT else (take, leave)
            found = first()
            return found if found is not None else second()

        return again(0, at)

    def _run(self, least, most, item, at, rest):
        end = at
        while end < len(self.text) and (most is op.MAXREPEAT or end - at < most):
            self._step()
            if not self._is(*item, self.text[end]):
                break
            end += 1
        for position in range(end, at + least - 1, -1):
            if (found := rest(position)) is not None:
                return found
        return None

    def _is(self, kind, value, character):
        match kind:
            case op.LITERAL:
                same = {character, character.lower(), character.upper()} if self.flags & re.IGNORECASE else {character}
                return chr(value) in same
            case op.NOT_LITERAL:
                return ord(character) != value
            case op.ANY:
                return bool(self.flags & re.DOTALL) or character != "\n"
        negated = value[0][0] is op.NEGATE
        return negated != any(self._among(*each, character) for each in value[negated:])

    def _among(self, kind, value, character):
        match kind:
            case op.LITERAL:
                return self._is(kind, value, character)
            case op.RANGE:
                low, high = value
                cases = {character, character.lower(), character.upper()} if self.flags & re.IGNORECASE else {character}
                return any(low <= ord(each) <= high for each in cases)
        return {
            op.CATEGORY_SPACE: character.isspace(),
            op.CATEGORY_NOT_SPACE: not character.isspace(),
            op.CATEGORY_DIGIT: character.isdigit(),
            op.CATEGORY_NOT_DIGIT: not character.isdigit(),
            op.CATEGORY_WORD: character.isalnum() or character == "_",
            op.CATEGORY_NOT_WORD: not (character.isalnum() or character == "_"),
        }[value]

    def _at(self, where, at):
        text, end = self.text, len(self.text)
        match where:
            case op.AT_BEGINNING:
                return at == 0 or (bool(self.flags & re.MULTILINE) and text[at - 1] == "\n")
            case op.AT_BEGINNING_STRING:
                return at == 0
            case op.AT_END:
                return at == end or text[at:] == "\n" or (bool(self.flags & re.MULTILINE) and text[at] == "\n")
            case op.AT_END_STRING:
                return at == end
        before = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
        after = at < end and (text[at].isalnum() or text[at] == "_")
        return (before != after) == (where is op.AT_BOUNDARY)
