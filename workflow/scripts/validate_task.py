from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.prepare import validate_tasks

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    rows = validate_tasks(
        config,
        config.dataset(snakemake.wildcards.dataset),
        [t for t in tasks if t["batch"] == int(snakemake.wildcards.batch)],
        read_table(snakemake.input.images, TABLES["images"]),
        threads=snakemake.threads,
        say=log.say,
    )
    write_table(rows, TABLES["admission"], snakemake.output.admission)
