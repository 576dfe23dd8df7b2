"""Fuzzers of the public functions: ``python -m fuzz --help``.

A case is a function of its kind, a seed and its number alone, so every finding comes with the one line that
replays it.

    numbers      results against an exact oracle: shapes, dtypes, memory orders, nasty values
    arguments    wrong values for every parameter of every public callable
    files        broken tables through the command line
    memory       calls that run out of memory
"""
