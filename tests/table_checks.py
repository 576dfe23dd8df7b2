"""What tests of tables look at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet


def columns(table):
    return dict(zip(table.names, table.X.T.tolist(), strict=True))


def has_note(table, *parts):
    assert any(all(part in note for part in parts) for note in table.notes), table.notes
    return True


def parquet(columns, tmp_path, name="data.parquet"):
    pa.parquet.write_table(pa.table(columns), tmp_path / name)
    return tmp_path / name
