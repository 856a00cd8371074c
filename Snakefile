# termdepth: how deep are these terminal tasks? Run `snakemake --cores N`; see README.md.
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/setup.smk"


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/validate.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/replay.smk"
include: "workflow/rules/merge.smk"
include: "workflow/rules/report.smk"


report: "workflow/report/workflow.rst"


onstart:
    forget_errors(RESULTS)


onerror:
    show_errors(RESULTS)


onsuccess:
    finish(workflow.main_snakefile, config, RESULTS, all_results())


rule all:
    default_target: True
    input:
        all_results(),
