from termdepth.config import parse_config
from termdepth.data import TABLES, read_tables, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import measure, tasks_of_batch

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    before = snakemake.input.get("before", [])
    runs, turns = measure(
        config,
        dataset,
        tasks_of_batch(dataset, int(snakemake.wildcards.batch), snakemake.input.tasks, snakemake.input.admission),
        snakemake.params.phase,
        read_tables([before] if isinstance(before, str) else before, TABLES["runs"]),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(turns, TABLES["turns"], snakemake.output.turns)
    write_table(runs, TABLES["runs"], snakemake.output.runs)
