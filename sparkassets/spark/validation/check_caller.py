"""Checks of the user's own: a function of an allowed package, called with the rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sparkassets.core.spec.model import PythonBody
from sparkassets.core.validations import PythonCheck, RegisteredCheck
from sparkassets.core.validations.registered import REGISTRY, build_row_checker
from sparkassets.errors import FileLocation, RunError, SparkAssetsError
from sparkassets.frozen import frozen
from sparkassets.plugins import InstalledFactories
from sparkassets.spark.functions import load_function, raised_by
from sparkassets.spark.package_shipping import ship_package
from sparkassets.spark.process_state import preserve_process_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@frozen
class CheckCaller:
    """Calls the checks of one asset's rules.

    Attributes:
        asset: Whose, for messages.
        allowed: The packages that functions may come from.
        place: Where the asset is declared.
    """

    asset: str
    allowed: Collection[str]
    place: FileLocation

    def __call__(self, check: PythonCheck | RegisteredCheck, frame: DataFrame) -> Any:  # noqa: ANN401  the author's
        """What the function says of the rows.

        Raises:
            RunError: It is not there, or raises.
        """
        if isinstance(check, RegisteredCheck):
            return self._ask(check, frame)
        body = PythonBody(check.module, check.function, (), check.search_path, self.place)
        function = load_function(body, self.allowed, self.asset)
        ship_package(frame.sparkSession, body.module.partition(".")[0], folder=body.search_path)
        try:
            with preserve_process_state(lambda: False):
                return function(frame)
        except SparkAssetsError:
            raise
        except BaseException as error:
            raise raised_by(error, body) from error

    def _ask(self, check: RegisteredCheck, frame: DataFrame) -> Any:  # noqa: ANN401  another package's
        try:
            asked = build_row_checker(check.name, check.parameters, installed=InstalledFactories(REGISTRY))
            with preserve_process_state(lambda: False):
                return asked(frame)
        except SparkAssetsError as error:
            raise RunError(f"{self.asset}: {error.args[0]}", hint=error.hint) from error
        except Exception as error:
            what = f"the check {check.name!r} failed"
            raise RunError(f"{self.asset}: {what}: {type(error).__name__}: {error}") from error
