from termdepth.config import parse_config
from termdepth.data import TABLES, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import evaluate, tasks_of_batch

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    runs, turns = evaluate(
        config,
        dataset,
        tasks_of_batch(dataset, int(snakemake.wildcards.batch), snakemake.input.tasks, snakemake.input.admission),
        config.model(snakemake.wildcards.model),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(turns, TABLES["turns"], snakemake.output.turns)
    write_table(runs, TABLES["runs"], snakemake.output.runs)
