"""Assets that modules of the allowed packages declare, as documents with places, as YAML's are."""

from sparkassets.project.declared.assets import DeclaredAsset, DeclaredAssets, declared_assets
from sparkassets.project.declared.import_process import ImportResult, import_modules
from sparkassets.project.declared.modules import PythonFile

__all__ = ["DeclaredAsset", "DeclaredAssets", "ImportResult", "PythonFile", "declared_assets", "import_modules"]
