from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import evaluate, task_refs

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    runs, turns = evaluate(
        config,
        dataset,
        task_refs(
            dataset,
            [t for t in tasks if t["batch"] == int(snakemake.wildcards.batch)],
            read_table(snakemake.input.admission, TABLES["admission"]),
        ),
        config.model(snakemake.wildcards.model),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(turns, TABLES["turns"], snakemake.output.turns)
    write_table(runs, TABLES["runs"], snakemake.output.runs)
