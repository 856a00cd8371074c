from termdepth.data import TABLES, read_table
from termdepth.data.io import write_text
from termdepth.pipeline.job import job
from termdepth.pipeline.provenance import provenance

with job(snakemake):
    text = provenance(
        snakemake.config,
        read_table(snakemake.input.runs, TABLES["runs"]),
        read_table(snakemake.input.admission, TABLES["admission"]),
    )
    write_text(text, snakemake.output[0])
