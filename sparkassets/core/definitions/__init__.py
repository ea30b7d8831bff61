"""Definitions: the parts of an asset that decide which rows come from the same input, to detect their changes."""

from sparkassets.core.definitions.definition import AssetDefinition

__all__ = ["AssetDefinition"]
