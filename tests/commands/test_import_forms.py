"""Import of returned files: all are checked before any is copied."""

import json
import shutil
from pathlib import Path
from threading import Event, Thread

import pandas as pd
import pytest
import yaml

from flows.commands import import_forms
from flows.commands.import_forms import import_files
from flows.commands.parser import run
from flows.repository import workspace
from flows.runtime.tables import write_table
from schemas.errors import SourceError
from schemas.tables.note_qa import QUESTIONS
from schemas.tables.people import REVIEW_NOTES
from tasks.measures.note_qa.form import QuestionForm
from tasks.people.forms import split_by_form
from tasks.people.rating_form import RatingForm
from tests.support.imports import ROOT
from tests.support.qa import questions_by_hand
from tests.support.returned import file_of, kept, rated
from tests.support.review import drawn

FORM = RatingForm(drawn(), [])


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the pipeline's review stage, a draw, and the project's params."""
    root = Path(__file__).parents[2]
    shutil.copy(root / "params.yaml", tmp_path)
    stage = yaml.safe_load((root / "dvc.yaml").read_text())["stages"]["review"]
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"review": stage}}))
    monkeypatch.chdir(tmp_path)
    Path("returned/review_returned").mkdir(parents=True)
    write_table(drawn(), Path("data/review/review_notes.parquet"), REVIEW_NOTES)
    return tmp_path


def _file(folder: Path, rater: str, name: str = "sent.json", **changes) -> Path:
    (folder / name).write_text(file_of(FORM, rater, **{"notes": rated()} | changes))
    return folder / name


def test_good_files_are_taken_in_under_the_raters_code(project):
    taken = import_files([_file(project, "rater_1", "a.json"), _file(project, "rater_2", "b.json")])
    assert [path.as_posix() for path in taken] == [f"returned/review_returned/rater_{i}.json" for i in (1, 2)]


def test_the_pipeline_that_reads_a_form_is_named(monkeypatch, capsys):
    files = {Path("returned/preferences_returned/a.json"): "1", Path("returned/review_returned/b.json"): "2"}
    monkeypatch.setattr(import_forms, "import_files", lambda *_, **__: files)
    assert run(["exchange", "import", "a.json"]) == 0
    said = capsys.readouterr().out.splitlines()[2:]
    assert said == ["now run: vignette repro", "now run: vignette repro --pipeline reports/published/dvc.yaml"]


def test_one_bad_file_keeps_all_out(project, capsys):
    bad = _file(project, "rater_2", "b.json", notes=[])
    assert run(["exchange", "import", str(_file(project, "rater_1", "a.json")), str(bad)]) == 1
    said = capsys.readouterr().err
    assert f"{bad}: note 4 is missing" in said and said.endswith("; none of the 2 files was imported\n")
    assert not list(Path("returned/review_returned").iterdir())


def test_a_second_file_of_a_rater_needs_replace(project):
    file = _file(project, "rater_1")
    import_files([file])
    with pytest.raises(SourceError, match=f"{file}: already imported as returned/review_returned/rater_1.json"):
        import_files([file])
    assert import_files([file], replace=True)


def test_two_imports_at_once_do_not_replace_each_others_file(project, monkeypatch, capsys):
    """The second one checks what is there only after the first has copied its files."""
    first, second = (_file(project, "rater_1", name) for name in ("first.json", "second.json"))
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(project))
    begun, ended = Event(), list[int]()
    other = Thread(target=lambda: ended.append(run(["exchange", "import", str(second)])))
    copied = workspace.write_text

    def slowly(path: Path, text: str) -> None:
        if not begun.is_set():
            begun.set()
            other.start()
            other.join(1)
        copied(path, text)

    monkeypatch.setattr(workspace, "write_text", slowly)
    assert run(["exchange", "import", str(first)]) == 0
    other.join()
    said = capsys.readouterr().err
    assert ended == [1] and f"{second}: already imported as returned/review_returned/rater_1.json" in said


def test_only_files_that_name_another_form_are_set_aside() -> None:
    files = {"mine": '{"form": "x"}', "older": '{"form": "y"}', "none": "{}", "no id": '{"form": 3}', "text": "no JSON"}
    current, older = split_by_form(files, "x")
    assert list(current) == ["mine", "none", "no id", "text"] and older == {"older": "y"}


def test_a_file_that_is_no_form_is_refused(project):
    (project / "x.json").write_text("[1]")
    with pytest.raises(SourceError, match="not a returned file of a form"):
        import_files([project / "x.json"])
    with pytest.raises(SourceError, match="cannot be read"):
        import_files([project / "absent.json"])
    for rater, said in (("../../evil", "unknown rater"), ("half \ud800", "not a file of the review form")):
        with pytest.raises(SourceError, match=said):
            import_files([_file(project, rater)])


@pytest.fixture
def questions(project):
    """The project with stage `note_qa` and the table behind its form."""
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["note_qa"]
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": {"note_qa": stage}}))
    Path("returned/questions_returned").mkdir()
    asked = questions_by_hand().head(2)
    write_table(asked, Path("data/note_qa/generated_questions.parquet"), QUESTIONS)
    return asked


def _question_file(folder: Path, asked: pd.DataFrame, **changes) -> Path:
    (folder / "questions.json").write_text(
        file_of(QuestionForm(asked), "dr_b", **{"questions": kept(asked), **changes})
    )
    return folder / "questions.json"


def test_a_form_of_questions_is_imported_into_the_folder_of_its_stage(project, questions):
    taken = import_files([_question_file(project, questions)])
    assert [path.as_posix() for path in taken] == ["returned/questions_returned/dr_b.json"]


def test_two_clinicians_with_copies_of_one_form_are_imported_under_their_names(project, questions):
    for name in ("Dr Müller", "Dr Möller", "C"):
        import_files([_question_file(project, questions, signature=name)])
    found = sorted(path.name for path in Path("returned/questions_returned").iterdir())
    assert found[0] == "dr_b-C.json" and [name[:14] for name in found[1:]] == ["dr_b-dr_m_ller"] * 2
    assert {json.loads(Path("returned/questions_returned", name).read_text())["signature"] for name in found[1:]} == {
        "Dr Müller", "Dr Möller"
    }  # fmt: skip
    with pytest.raises(SourceError, match="already imported"):
        import_files([_question_file(project, questions, signature="dr  müller")])
    again = import_files([_question_file(project, questions, signature="C")], replace=True)
    assert list(again.values()) == ["2 of 2 questions, in place of an earlier file"]


def test_a_form_without_an_answer_is_refused(project, questions, capsys):
    file = _question_file(project, questions, questions=[])
    assert run(["exchange", "import", str(file)]) == 1
    assert f"{file}: 0 of {len(questions)} questions are answered" in capsys.readouterr().err
    assert not list(Path("returned/questions_returned").iterdir())


def test_what_is_imported_is_counted_of_all_that_the_form_asks(project, questions, capsys):
    answered = json.loads(_question_file(project, questions).read_text())["questions"]
    assert (
        run(["exchange", "import", str(_question_file(project, questions, questions=answered[:1], complete=False))])
        == 0
    )
    assert "dr_b.json (1 of 2 questions, not marked as complete)" in capsys.readouterr().out


def test_a_file_of_labels_is_imported_for_the_stage_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    (tmp_path / "returned/labels_returned").mkdir(parents=True)
    file = tmp_path / "gpt-4o.csv"
    file.write_text("item,judged,label\na,1,yes\nb,0,\n")
    assert [path.as_posix() for path in import_files([file])] == ["returned/labels_returned/gpt-4o.csv"]
    file.write_text("item,judged,label\na,maybe,yes\n")
    with pytest.raises(SourceError, match=f"{file}, row 2, column judged: found 'maybe'"):
        import_files([file], replace=True)
    file.write_text("item,judged,label\na,1,\nb,0,\n")
    with pytest.raises(SourceError, match=f"{file}: 0 of 2 items have a label"):
        import_files([file], replace=True)
