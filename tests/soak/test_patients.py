"""Patients over time in number: notes, questions and summaries of 500 patients within the stated time and memory."""

import resource
from pathlib import Path

import pandas as pd
import pytest

from tests.support.clone import Clone

pytestmark = pytest.mark.soak

PATIENTS, CORES, MINUTES, GIGABYTES = 500, 2, 6, 3
STAGES = ("visits", "visit_notes", "history_qa", "summarise")


def test_500_patients_with_1_to_8_visits_take_6_minutes_on_2_cores_and_3_gigabytes(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    clone.set_params(
        visits__patients=PATIENTS, visits__long_visits=[], summarise__patients=PATIENTS, summarise__visits=[1, 8]
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    clone.vignette("repro", *STAGES, timeout=3000)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    visits = pd.read_parquet(tmp_path / "data/visits/visits.parquet")
    sizes = visits.groupby("patient").size()
    assert len(sizes) == PATIENTS and sizes.min() == 1 and sizes.max() == 8
    notes = pd.read_parquet(tmp_path / "data/visit_notes/visit_notes.parquet")
    summaries = pd.read_parquet(tmp_path / "data/summarise/history_summaries.parquet")
    questions = pd.read_parquet(tmp_path / "data/history_qa/history_questions.parquet")
    assert len(notes) == len(visits) and len(summaries) == 6 * PATIENTS
    print(f"\n{len(notes)} notes, {len(questions)} questions, {len(summaries)} summaries: {spent:.0f} s of processor")
    print(f"largest process {after.ru_maxrss / 1e6:.2f} GB")
    assert spent < CORES * MINUTES * 60, "processor time, which does not depend on what else the machine does"
    assert after.ru_maxrss * 1024 < GIGABYTES * 1e9
