"""The report that is read names its lineage, revision, date of the commit and how to cite it."""

import re
from pathlib import Path

import pytest
import yaml

from flows.lineage import origin, recording
from flows.lineage.lineage import current_lineage
from flows.lineage.origin import citation, code_rows, running_code
from flows.lineage.report import MADE, PAPERS, PLACE, SHOWN, write_report
from tests.support.imports import ROOT
from tests.support.repository import commit, git

TEMPLATE = ROOT / "tasks/reporting/templates/widgets.html"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a lock, a page that stage `report` made, and one commit."""
    (tmp_path / "reports").mkdir()
    (tmp_path / MADE.parent).mkdir(parents=True)
    (tmp_path / MADE).write_text(f"<section>{PLACE}</section>")
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"stages": {"sample": {"outs": [{"path": "a", "md5": "1"}]}}}))
    (tmp_path / "params.yaml").write_text("seed: 7")
    (tmp_path / "CITATION.cff").write_bytes((ROOT / "CITATION.cff").read_bytes())
    git(tmp_path, "init", "-q")
    commit(tmp_path, "one", "params.yaml")
    return tmp_path


def test_the_page_names_lineage_revision_date_and_citation_and_the_stages_page_is_left(clone: Path) -> None:
    made = (clone / MADE).read_text()
    write_report(clone)
    page = (clone / SHOWN).read_text()
    found = dict(re.findall(r'<th scope="row">([^<]+)</th><td>([^<]+)</td>', page))
    assert found["lineage"] == current_lineage(clone).id and re.fullmatch(r"[0-9a-f]{10}", found["code revision"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date of the commit"]) and "date of the results" not in page
    assert f"version 0.1.0 (lineage {found['lineage']}, code revision {found['code revision']}" in page
    assert (clone / MADE).read_text() == made and PLACE in TEMPLATE.read_text()
    assert not (clone / SHOWN).with_name(PAPERS).exists()
    (clone / MADE).with_name(PAPERS).write_text(f"<section>{PLACE}</section>")
    published = clone / "reports/published/dvc.lock"
    published.parent.mkdir()
    published.write_text(yaml.safe_dump({"stages": {"doclens": {"outs": [{"path": "b", "md5": "2"}]}}}))
    commit(clone, "two", "reports/published")
    (clone / "params.yaml").write_text("seed: 8")
    write_report(clone)
    papers = (clone / SHOWN).with_name(PAPERS).read_text()
    assert found["lineage"] not in papers and re.search(r"date of the results</th><td>\d{4}-\d\d-\d\d<", papers)
    found["code revision"] = git(clone, "rev-parse", "HEAD")[:10]
    assert f"{found['code revision']} with uncommitted changes" in (clone / SHOWN).read_text()


def test_without_a_page_nothing_is_written_and_without_a_commit_the_lineage_alone(clone: Path) -> None:
    (clone / MADE).rename(clone / "page.html")
    write_report(clone)
    assert not (clone / SHOWN).exists()
    (clone / "page.html").rename(clone / MADE)
    (clone / ".git").rename(clone / "no-git")
    write_report(clone)
    page = (clone / SHOWN).read_text()
    assert current_lineage(clone).id in page and "revision" not in page


def test_the_code_that_runs_is_that_of_its_own_repository_wherever_it_is_run(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "SHIPPED", (clone,))
    monkeypatch.chdir(clone.parent)
    rows = code_rows(running_code())
    revision = git(clone, "rev-parse", "HEAD")
    assert rows["version"] == "0.1.0" and rows["code revision"] == revision[:10]
    assert citation(rows, clone).endswith(
        f"version 0.1.0 (code revision {revision[:10]}, date of the commit {rows['date of the commit']})."
    )


@pytest.mark.parametrize(
    ("noted", "rows"),
    [
        (None, {"version": "1.2"}),
        ('{"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}',
         {"version": "1.2", "code revision": "0123456789"}),
    ],
)  # fmt: skip
def test_an_installed_version_is_that_of_its_own_and_not_the_repository_in_which_it_is_run(
    clone: Path, monkeypatch: pytest.MonkeyPatch, noted: str | None, rows: dict[str, str]
) -> None:
    installed = type("Installed", (), {"version": "1.2", "read_text": lambda _, __: noted})()
    monkeypatch.setattr(origin, "distribution", lambda _: installed)
    monkeypatch.setattr(origin, "SHIPPED", (clone.parent / "site-packages",))
    monkeypatch.chdir(clone)
    assert code_rows(running_code()) == rows
    assert "version 0.1.0." in citation({"version": "1.2"}, ROOT)


def test_the_model_of_the_processor_is_named_where_it_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "Path", lambda _: tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.processor", lambda: "")
    assert recording.cpu() == "unknown"
    monkeypatch.setattr("platform.processor", lambda: "arm")
    for listed, name in (("model name\t: Xeon: Gold\n", "Xeon: Gold"), ("stepping: 0\n", "arm")):
        (tmp_path / "cpuinfo").write_text(f"processor: 0\n{listed}")
        assert recording.cpu() == name
