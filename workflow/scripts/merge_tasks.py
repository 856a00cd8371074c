from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import tasks_of_batch
from termdepth.pipeline.merge import merge_tasks

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    rows = merge_tasks(
        config,
        dataset,
        tasks_of_batch(dataset, int(snakemake.wildcards.batch), snakemake.input.tasks, snakemake.input.admission),
        read_table(snakemake.input.depth, TABLES["depth"]),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(rows, TABLES["merged"], snakemake.output.merged)
