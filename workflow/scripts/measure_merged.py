from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.merge import measure_merged

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    rows, runs, turns = measure_merged(
        config,
        config.dataset(snakemake.wildcards.dataset),
        read_table(snakemake.input.merged, TABLES["merged"]),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(runs, TABLES["runs"], snakemake.output.runs)
    write_table(turns, TABLES["turns"], snakemake.output.turns)
    write_table(rows, TABLES["merged"], snakemake.output.merged)
