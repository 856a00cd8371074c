from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, read_tables, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.measure import measure, task_refs

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    dataset = config.dataset(snakemake.wildcards.dataset)
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    before = snakemake.input.get("before", [])
    runs, turns = measure(
        config,
        dataset,
        task_refs(
            dataset,
            [t for t in tasks if t["batch"] == int(snakemake.wildcards.batch)],
            read_table(snakemake.input.admission, TABLES["admission"]),
        ),
        snakemake.params.phase,
        read_tables([before] if isinstance(before, str) else before, TABLES["runs"]),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(turns, TABLES["turns"], snakemake.output.turns)
    write_table(runs, TABLES["runs"], snakemake.output.runs)
