"""One module per stage of dvc.yaml, each with `async def run(stage)`."""
