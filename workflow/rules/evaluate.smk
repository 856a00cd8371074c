rule run_evaluation:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
    output:
        runs=f"{RESULTS}/evaluate/{{dataset}}/{{batch}}.{{model}}.runs.parquet",
        turns=f"{RESULTS}/evaluate/{{dataset}}/{{batch}}.{{model}}.turns.parquet",
    log:
        f"{RESULTS}/logs/run_evaluation/{{dataset}}.{{batch}}.{{model}}.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=evaluation_spec,
    message:
        "Evaluating {wildcards.model} on {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/run_evaluation.py"
