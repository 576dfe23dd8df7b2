"""Tables of the command line: a file → columns of numbers, and a note on everything that was changed.

numerals.py → number_columns.py → text_format.py → text_files.py, parquet_files.py, numpy_files.py →
files.py → table.py, which reads sparse tables by sparse_files.py. columns.py has what the readers return.
"""

from .table import MISSING, MOST_CATEGORIES, TEXT, Table, read_table

__all__ = ["MISSING", "MOST_CATEGORIES", "TEXT", "Table", "read_table"]
