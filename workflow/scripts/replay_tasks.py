from termdepth.config import parse_config
from termdepth.data import TABLES, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import tasks_of_batch
from termdepth.pipeline.replay import replay_tasks

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    rows = replay_tasks(
        config,
        dataset,
        tasks_of_batch(dataset, int(snakemake.wildcards.batch), snakemake.input.tasks, snakemake.input.admission),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(rows, TABLES["replays"], snakemake.output.replays)
