checkpoint list_tasks:
    input:
        lambda w: tables_of(w.dataset),
    output:
        tasks=f"{RESULTS}/tasks/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/list_tasks/{{dataset}}.log",
    conda:
        "../../envs/termdepth.yaml"
    params:
        spec=list_spec,
    message:
        "Listing the tasks of {wildcards.dataset}"
    script:
        "../scripts/list_tasks.py"


rule build_image:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
    output:
        images=f"{RESULTS}/images/{{dataset}}/{{batch}}.parquet",
    log:
        f"{RESULTS}/logs/build_image/{{dataset}}.{{batch}}.log",
    conda:
        "../../envs/termdepth.yaml"
    resources:
        builds=1,
    params:
        spec=image_spec,
    message:
        "Building the images of {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/build_image.py"
