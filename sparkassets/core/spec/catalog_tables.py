"""Checks of tables that a catalog knows by name: names of one or several, and options that need a path."""

from __future__ import annotations

from sparkassets.core.spec.file_models import AssetFile, WriteMap
from sparkassets.core.spec.model import StorageLocation
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.table_names import has_fields, parse_table_name
from sparkassets.errors import InputError

_STAND_IN = ("unnamed",)
"""In place of what is no name, which is refused where it stands."""


def named_table(text: str, *, several: bool = False) -> StorageLocation:
    """The location of the table of that name, or of ``several`` that its fields stand for."""
    try:
        return StorageLocation.several(text) if several else StorageLocation.of_table(parse_table_name(text))
    except InputError:
        return StorageLocation.of_table(_STAND_IN)


def check_table(at: DocumentPlace, keys: AssetFile) -> None:
    """Refuses a name that is none, and what a table in a catalog does not do."""
    if keys.table is None:
        return
    place = at / "table"
    try:
        if keys.source and has_fields(keys.table):
            StorageLocation.several(keys.table)
        else:
            parse_table_name(keys.table)
    except InputError as error:
        place.add_problem(str(error.args[0]), hint=error.hint)
    if keys.path is not None:
        place.add_key_problem("'table' and 'path' both say where it is; expected one of them")
    for what in _find_unsupported_options(keys):
        place.add_key_problem(f"{what} needs a 'path': a catalog gives its tables no folder beside them")


def _find_unsupported_options(keys: AssetFile) -> list[str]:
    """Options of the asset that need folders beside the table, which a catalog's table lacks."""
    publishes = isinstance(keys.write, WriteMap) and keys.write.publish is not None
    return ["'publish'"] if publishes else []
