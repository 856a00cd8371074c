"""The tables of record: one declared schema each, written atomically as Parquet."""

from termdepth.data.io import read_frame, read_table, read_tables, write_table
from termdepth.data.schema import TABLES, Column, Table

__all__ = ["TABLES", "Column", "Table", "read_frame", "read_table", "read_tables", "write_table"]
