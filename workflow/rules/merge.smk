rule merge_tasks:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
        depth=f"{RESULTS}/depth/{{dataset}}.parquet",
    output:
        merged=f"{RESULTS}/merged/{{dataset}}/{{batch}}.tasks.parquet",
    log:
        f"{RESULTS}/logs/merge_tasks/{{dataset}}.{{batch}}.log",
    priority: 20
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=merge_spec,
    message:
        "Merging the segments of tasks of {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/merge_tasks.py"


rule measure_merged:
    input:
        merged=f"{RESULTS}/merged/{{dataset}}/{{batch}}.tasks.parquet",
    output:
        merged=f"{RESULTS}/merged/{{dataset}}/{{batch}}.merged.parquet",
        runs=f"{RESULTS}/merged/{{dataset}}/{{batch}}.runs.parquet",
        turns=f"{RESULTS}/merged/{{dataset}}/{{batch}}.turns.parquet",
    log:
        f"{RESULTS}/logs/measure_merged/{{dataset}}.{{batch}}.log",
    priority: 20
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=merged_spec,
    message:
        "Measuring the merged tasks of {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/measure_merged.py"
