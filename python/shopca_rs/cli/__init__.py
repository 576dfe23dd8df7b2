"""The command `shopca`."""

from .command import main

__all__ = ["main"]
