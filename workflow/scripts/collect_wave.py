from termdepth.data import TABLES, read_tables, write_table
from termdepth.pipeline.job import job

with job(snakemake):
    table = TABLES["admission"]
    write_table(read_tables(snakemake.input, table), table, snakemake.output.wave)
