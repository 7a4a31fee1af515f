"""Stages that compare with printed tables need the domain of the paper."""

from pathlib import Path

import pytest

from flows.repository.pipeline import stage_files
from flows.runtime.domain import require_published_domain
from schemas.errors import DomainError
from tasks.domains import in_use


def test_stages_that_compare_with_printed_tables_are_refused_in_another_domain() -> None:
    pipeline = Path("reports/published/dvc.yaml")
    with in_use.in_domain("urinary"):
        with pytest.raises(DomainError, match=r"'urinary'.*SimSUM's printed tables.*set domain: respiratory"):
            require_published_domain(stage_files(pipeline, "baselines_published"), "urinary")
        require_published_domain(stage_files(pipeline, "doclens_published"), "urinary")
        require_published_domain(stage_files(Path("dvc.yaml"), "sample"), "urinary")
    require_published_domain(stage_files(pipeline, "baselines_published"), "respiratory")
