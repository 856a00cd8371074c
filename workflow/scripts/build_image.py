from termdepth.config import parse_config
from termdepth.data import TABLES, read_table, write_table
from termdepth.pipeline.job import job
from termdepth.pipeline.prepare import build_images

with job(snakemake) as log:
    config = parse_config(snakemake.config, where="config")
    tasks = read_table(snakemake.input.tasks, TABLES["tasks"])
    batch = [t for t in tasks if t["batch"] == int(snakemake.wildcards.batch)]
    rows = build_images(config, config.dataset(snakemake.wildcards.dataset), batch, say=log.say)
    write_table(rows, TABLES["images"], snakemake.output.images)
