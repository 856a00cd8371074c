from termdepth.data import TABLES, read_tables, write_table
from termdepth.pipeline.job import job

with job(snakemake):
    table = TABLES[snakemake.wildcards.table]
    write_table(read_tables(list(snakemake.input.tables), table), table, snakemake.output.table)
