"""One module a stage of dvc.yaml, each with `async def run(stage)`."""
