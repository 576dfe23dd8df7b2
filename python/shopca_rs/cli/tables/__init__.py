"""Tables of the command line: a file → columns of numbers, and a note on everything that was changed.

text_format.py, numerals.py → text_files.py, parquet_files.py, numpy_files.py → files.py → table.py
"""

from .table import MISSING, MOST_CATEGORIES, TEXT, Table, read_table

__all__ = ["MISSING", "MOST_CATEGORIES", "TEXT", "Table", "read_table"]
