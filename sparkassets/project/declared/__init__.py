"""Assets that modules of the allowed packages declare, as documents with places, as YAML's are."""

from sparkassets.project.declared.declared import DeclaredAssets, declared_assets
from sparkassets.project.declared.importing import Imported, import_modules
from sparkassets.project.declared.modules import PythonFile
from sparkassets.project.declared.reading import Declared

__all__ = ["Declared", "DeclaredAssets", "Imported", "PythonFile", "declared_assets", "import_modules"]
