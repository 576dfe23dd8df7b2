"""pandas, imported when it is needed."""

from __future__ import annotations

from typing import Any


def as_pandas() -> Any:
    """Return pandas, or raise an error that says how to install it."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "A DataFrame needs pandas, which cannot be imported. "
            'Install it with pip install "shopca-rs[cli]".'
        ) from error
    return pandas
