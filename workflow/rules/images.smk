checkpoint list_tasks:
    output:
        tasks=f"{RESULTS}/tasks/{{dataset}}.parquet",
    params:
        spec=lambda w: spec(
            "tasks",
            dataset=dataset_spec(w.dataset, "path", "kind", "tasks", "sample", "seed", "reserve", "tasks_per_job"),
            folder=folder_signature(CONFIG.dataset(w.dataset).path),
        ),
    log:
        f"{RESULTS}/logs/list_tasks/{{dataset}}.log",
    message:
        "Listing the tasks of {wildcards.dataset}"
    script:
        "../scripts/list_tasks.py"


rule build_image:
    input:
        tasks=ancient(f"{RESULTS}/tasks/{{dataset}}.parquet"),
    output:
        images=f"{RESULTS}/images/{{dataset}}/{{batch}}.parquet",
    params:
        spec=image_spec,
    log:
        f"{RESULTS}/logs/build_image/{{dataset}}.{{batch}}.log",
    resources:
        builds=1,
    message:
        "Building the images of {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/build_image.py"
