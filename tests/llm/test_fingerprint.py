"""Identity and epoch change when the model does, and only then."""

from pathlib import Path

import pytest

from schemas.errors import IdentityError
from schemas.params.llm import Role
from tasks.llm import contents
from tasks.llm.canaries import PROMPTS, similarity
from tasks.llm.contents import content_files, content_hash
from tasks.llm.fingerprint import Fingerprint, embedded_identity, read_fingerprint, require_recorded, served_identity
from tasks.llm.model_versions import settle
from tasks.llm.store import ResponseStore

ROLE = Role(base_url="https://user:pass@api.example.com/v1?key=abcd", model="big")
ENTRY = {"id": "big", "owned_by": "acme", "created": 5}
COLD = {"why?": ["a cold is viral so antibiotics do not help it", "a cold is viral, antibiotics do not help"]}
WARM = {"why?": ["bacteria are what antibiotics fight and nothing else will do"]}


def test_identity_leaves_out_what_changes_by_itself() -> None:
    first = served_identity(ROLE, ENTRY, "big-05-13", "fp_1")
    later = served_identity(ROLE, ENTRY | {"created": 9}, "big-05-13", "fp_2")
    assert (
        first
        == later
        == {
            "endpoint": "https://api.example.com/v1",
            "asked": "big",
            "answered": "big-05-13",
            "owner": "acme",
        }
    )


def test_a_role_names_which_fields_count() -> None:
    counted = ROLE.model_copy(update={"identity": ["system_fingerprint"]})
    found = served_identity(counted, ENTRY, "big-05-13", "fp_1")
    assert found == {"endpoint": "https://api.example.com/v1", "asked": "big", "system_fingerprint": "fp_1"}


def test_the_identity_of_rules_is_the_hash_of_what_shapes_their_replies(tmp_path: Path) -> None:
    files = [path.relative_to(contents.ROOT).as_posix() for path in content_files("vignette-annotator")]
    assert "tasks/simulator/dispatch.py" in files
    assert "tasks/simulator/annotator/handlers.py" in files
    assert "tasks/simulator/clinical/data/abbreviations.yaml" in files  # read by the modules, imported by none
    writing = [path.relative_to(contents.ROOT).as_posix() for path in content_files("vignette-writer-calibration")]
    assert any("simulator/writer/" in name for name in writing) and any(
        "simulator/writer_citing/" in n for n in writing
    )
    assert not any("writer/" in name or "server.py" in name or "faults.py" in name for name in files)
    assert (
        content_hash("vignette-annotator")
        == embedded_identity(Role(base_url="embedded", model="vignette-annotator"))["content"]
    )


def test_a_changed_rule_changes_the_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tasks" / "simulator"
    (package / "writer").mkdir(parents=True)
    (tmp_path / "tasks" / "text").mkdir()
    for name in ("dispatch", "request", "completions", "server"):
        (package / f"{name}.py").write_text("x = 1\n")
    (tmp_path / "tasks" / "text" / "__init__.py").write_text("")
    (tmp_path / "tasks" / "text" / "words.py").write_text("words = 1\n")
    (package / "writer" / "__init__.py").write_text("from tasks.text import words\n")
    (package / "writer" / "phrases.yaml").write_text("a: b\n")
    monkeypatch.setattr(contents, "ROOT", tmp_path)

    def now() -> str:
        content_hash.cache_clear()
        return content_hash("vignette-writer")

    seen = [now()]
    for path in (
        package / "writer" / "phrases.yaml",
        tmp_path / "tasks" / "text" / "words.py",
        package / "dispatch.py",
    ):
        path.write_text(path.read_text() + "# more\n")
        seen.append(now())
    assert len(set(seen)) == 4
    (package / "server.py").write_text("x = 2\n")
    assert now() == seen[-1], "how replies are carried does not count"
    content_hash.cache_clear()


def test_epoch_stays_while_replies_are_alike_and_goes_up_when_they_drift(tmp_path: Path) -> None:
    identity = {"endpoint": "e", "asked": "big"}
    with ResponseStore(tmp_path / "s.sqlite") as store:
        first, _ = settle(store, None, "writer", identity, COLD, 0.6)
        slightly = {"why?": ["a cold is viral and so antibiotics do not help it"]}
        same, alike = settle(store, first, "writer", identity, slightly, 0.6)
        assert same.to_json() == first.to_json() and alike > 0.6
        second, alike = settle(store, same, "writer", identity, WARM, 0.6)
        assert (first.epoch, second.epoch) == (0, 1) and alike < 0.6
        assert second.canaries == WARM and second.key != first.key
        rolled_back, _ = settle(store, second, "writer", identity, COLD, 0.6)
        assert rolled_back.to_json() == first.to_json(), "a model that comes back is known"


def test_a_model_that_comes_back_gets_its_old_file(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        first, _ = settle(store, None, "writer", {"endpoint": "e", "asked": "a"}, COLD, 0.6)
        other, _ = settle(store, first, "writer", {"endpoint": "e", "asked": "b"}, WARM, 0.6)
        back, _ = settle(store, other, "writer", {"endpoint": "e", "asked": "a"}, COLD, 0.6)
    assert other.epoch == 0 and back.to_json() == first.to_json()


def test_drift_is_measured_from_the_epochs_beginning(tmp_path: Path) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    with ResponseStore(tmp_path / "s.sqlite") as store:
        held, _ = settle(store, None, "writer", {"asked": "a", "endpoint": "e"}, {"p": [" ".join(words)]}, 0.6)
        for step in range(1, 6):
            drifted = {"p": [" ".join(["x"] * step + words[step:])]}
            held, _ = settle(store, held, "writer", {"asked": "a", "endpoint": "e"}, drifted, 0.6)
    assert held.epoch == 1, "small steps add up"


def test_similarity_is_one_for_the_same_and_low_for_other_replies() -> None:
    assert similarity(COLD, COLD) == 1.0
    assert similarity(WARM, COLD) < 0.4
    assert len(set(PROMPTS)) == len(PROMPTS) >= 3


def test_a_missing_or_broken_file_says_what_to_run(tmp_path: Path) -> None:
    assert read_fingerprint(tmp_path / "judge.json", "judge") is None
    with pytest.raises(IdentityError, match=r"fingerprints/judge.json: no such file; run: vignette probe"):
        require_recorded(None, None, "judge")
    (tmp_path / "judge.json").write_text("{")
    with pytest.raises(IdentityError, match=r"not a fingerprint.*vignette probe --role judge"):
        read_fingerprint(tmp_path / "judge.json", "judge")


def test_the_file_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "writer.json"
    written = Fingerprint("writer", {"endpoint": "e", "asked": "a"}, 2, COLD)
    path.write_text(written.to_json())
    assert read_fingerprint(path, "writer") == written
    assert written.label == "a, epoch 2"
