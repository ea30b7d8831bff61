"""What tests on real servers share."""

from tests.integration.conftest import s3

__all__ = ["s3"]
