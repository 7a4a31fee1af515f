"""With every fault at five percent the DAG ends, and each record is scored or listed with a reason."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clone import SMALL, Clone
from tests.support.endpoints import journal_lines, simulator
from tests.support.faulty import KINDS
from tests.support.outcome import Outcome
from tests.support.params import SAMPLED

pytestmark = pytest.mark.soak

FAULTS = ",".join(f"{kind}=0.05" for kind in KINDS)


@dataclass
class Faulty(Outcome):
    """The whole DAG with a faulty endpoint."""

    journal: Path


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    folder = tmp_path_factory.mktemp("faults")
    clone, journal = Clone(folder / "clone"), folder / "journal"
    with simulator("--journal", str(journal), "--faults", FAULTS, "--retry-after", "0.2") as server:
        roles = clone.roles_at(server.base_url)
        clone.set_params(
            roles=roles,
            runtime__sending={role: {"timeout_s": 10.0, "backoff_s": 0.05} for role in roles},
            runtime__max_unscored_share=0.5,
            **SMALL,
        )
        clone.vignette("probe")
        clone.run("dvc", "repro", timeout=3000)
        clone.vignette("server", "stop")
        yield Faulty(clone, journal)


def test_every_fault_came(faulty: Faulty) -> None:
    assert {outcome for _, outcome in journal_lines(faulty.journal)} == {"ok", *KINDS}


@pytest.mark.parametrize("stage", SAMPLED)
def test_each_record_drawn_has_a_score_or_a_reason(faulty: Faulty, stage: str) -> None:
    faulty.check_scores(stage)


@pytest.mark.parametrize(
    "check", [Outcome.check_notes, Outcome.check_questions, Outcome.check_ratings, Outcome.check_reasons]
)
def test_each_note_answer_and_rating_is_there_or_listed_with_a_reason(
    faulty: Faulty, check: Callable[[Outcome], None]
) -> None:
    check(faulty)
