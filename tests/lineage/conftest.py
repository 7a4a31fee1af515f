"""An empty MLflow database here too."""

from tests.tracking.conftest import empty_database, store

__all__ = ["empty_database", "store"]
