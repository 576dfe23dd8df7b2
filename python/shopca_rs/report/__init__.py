"""A report on a table in words and pictures, on one page."""

from .writer import write_report

__all__ = ["write_report"]
