rule replay_tasks:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
        admission=ancient(f"{RESULTS}/admission/{{dataset}}.parquet"),
    output:
        replays=f"{RESULTS}/replays/{{dataset}}/{{batch}}.parquet",
    log:
        f"{RESULTS}/logs/replay_tasks/{{dataset}}.{{batch}}.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=replay_spec,
    message:
        "Replaying the solutions of {wildcards.dataset}, batch {wildcards.batch}, with parts removed"
    script:
        "../scripts/replay_tasks.py"
