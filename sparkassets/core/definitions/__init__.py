"""Definitions: what of an asset's own decides which rows come of the same input, so that a change of it can be told."""

from sparkassets.core.definitions.definition import AssetDefinition

__all__ = ["AssetDefinition"]
