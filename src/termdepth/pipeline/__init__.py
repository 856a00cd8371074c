"""What the workflow's scripts call: one function a stage, reading and writing the tables of record."""
