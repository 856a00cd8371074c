from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, read_tables, write_table
from termdepth.pipeline.collect import depth_rows
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import protocol_of
from termdepth.pipeline.truth import plan_depths

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    rows = depth_rows(
        tasks,
        read_table(snakemake.input.admission, TABLES["admission"]),
        read_tables(snakemake.input.runs, TABLES["runs"]),
        protocol_of(config),
        plan_depths(tasks),
    )
    write_table(rows, TABLES["depth"], snakemake.output.depth)
