"""The stages of dvc.yaml.

A stage is ``run(stage)`` of the module with its name, or ``run_NAME(stage)`` of a module that holds several. One that
reads outside data lists its files in ``reads(params)`` or ``reads_NAME(params)``. See
`flows.repository.pipeline.place_of`.
"""
