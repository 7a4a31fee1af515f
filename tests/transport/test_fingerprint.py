"""Identity and epoch change if and only if the model does."""

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import IdentityError
from schemas.params.llm import Role
from tasks.code import ROOT, Code
from tasks.transport.epochs import PROBES, PROMPTS, SAMPLES, Replies, change_p_value, settle
from tasks.transport.fingerprint import (
    Fingerprint,
    parse_fingerprint,
    read_fingerprint,
    require_recorded,
    require_same,
    served_identity,
    simulator_content,
    simulator_identity,
)
from tasks.transport.store import ResponseStore

ROLE = Role(base_url="https://user:pass@api.example.com/v1?key=abcd", model="big")
ENTRY = {"id": "big", "owned_by": "acme", "created": 5}
COLD = ["a cold is viral so antibiotics do not help it", "a cold is viral, antibiotics do not help", "a cold is viral"]
WARM = ["bacteria are what antibiotics fight", "only bacteria react to antibiotics", "they fight bacteria"]


def test_identity_excludes_volatile_fields() -> None:
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


def test_the_identity_of_the_simulator_is_the_hash_of_its_rules() -> None:
    annotator, writer = (
        simulator_content(model, Code()) for model in ("vignette-annotator", "vignette-writer-calibration")
    )
    assert "tasks.simulator.dispatch" in {*annotator} & {*writer}
    assert any("simulator/reader/data/" in name for name in annotator)  # read by the modules, imported by none
    assert any(name.startswith("respiratory/lexicon/") for name in annotator)
    assert any(name.startswith("respiratory/writer/") for name in writer)
    assert any(".simulator.writer." in name for name in writer)
    assert not any(".simulator.writer." in name or "/writer/" in name for name in annotator)
    assert not {"tasks.simulator.server", "tasks.simulator.app"} & {*annotator, *writer}
    hashed = simulator_identity(Role(base_url="simulator", model="vignette-annotator"))["content"]
    assert hashed == hashlib.sha256(json.dumps(annotator).encode()).hexdigest()


def test_a_changed_rule_changes_the_identity(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks", ignore=shutil.ignore_patterns("__pycache__"))
    simulator = tmp_path / "tasks" / "simulator"

    def after(file: Path, more: str) -> dict[str, str]:
        file.write_text(file.read_text(encoding="utf-8") + more, encoding="utf-8")
        return simulator_content("vignette-writer", Code(tmp_path))

    seen = [simulator_content("vignette-writer", Code(tmp_path))]
    for file in (simulator / "writer" / "notes.py", tmp_path / "tasks" / "text" / "sections.py"):
        seen.append(after(file, "\nFURTHER = 1\n"))
    seen.append(after(simulator / "writer" / "data" / "words.yaml", "\n"))
    assert all(one != other for one, other in combinations(seen, 2))
    assert after(simulator / "writer" / "notes.py", "# A comment.\n") == seen[-1]
    assert after(simulator / "server.py", "\nFURTHER = 1\n") == seen[-1], "how replies are carried does not count"
    assert after(simulator / "reader" / "checks.py", "\nFURTHER = 1\n") == seen[-1], "nor do the rules of another model"


def found(replies: list[str], **identity: str) -> Fingerprint:
    """A probe's fingerprint with these replies to each of five prompts."""
    canaries = {f"prompt {n}": replies for n in range(5)}
    return Fingerprint("writer", {"endpoint": "e", "asked": "big"} | identity, canaries=canaries)


def test_epoch_stays_while_replies_are_alike_and_goes_up_when_they_drift(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        first, nothing_to_compare = settle(store, None, found(COLD), 0.01)
        assert np.isnan(nothing_to_compare)
        same, p_value = settle(store, first, found(COLD[::-1]), 0.01)
        assert same.to_json() == first.to_json() and p_value > 0.5
        second, p_value = settle(store, same, found(WARM), 0.01)
        assert (first.epoch, second.epoch) == (0, 1) and p_value < 0.01
        assert second.canaries == found(WARM).canaries and second.key != first.key
        rolled_back, _ = settle(store, second, found(COLD), 0.01)
        assert rolled_back.to_json() == first.to_json(), "a model that comes back is recognised"


def test_an_alias_keeps_the_recorded_identity(tmp_path: Path) -> None:
    with ResponseStore(tmp_path / "s.sqlite") as store:
        first, _ = settle(store, None, found(COLD, answered="big-0513"), 0.01)
        later = replace(found(COLD, answered="big-0806"), aliases=("big-0806",))
        tolerated, _ = settle(store, first, later, 0.01)
    assert tolerated.identity == first.identity and tolerated.key == first.key
    assert parse_fingerprint(tolerated.to_json(), "writer").answering == ("big-0513", "big-0806")


def test_an_owner_hidden_from_the_key_is_ignored() -> None:
    recorded = found(COLD, owner="acme")
    require_same(recorded, recorded.identity | {"owner": ""})
    with pytest.raises(IdentityError, match="owner is 'other', recorded is 'acme'"):
        require_same(recorded, recorded.identity | {"owner": "other"})


def test_the_error_on_a_missing_or_broken_file_names_the_command_to_run(tmp_path: Path) -> None:
    assert read_fingerprint(tmp_path, "judge") is None
    with pytest.raises(IdentityError, match=r"fingerprints/judge.json: no such file; run: vignette probe"):
        require_recorded(None, ROLE, "judge")
    (tmp_path / "judge.json").write_text("{")
    with pytest.raises(IdentityError, match=r"not a fingerprint.*vignette probe --role judge"):
        read_fingerprint(tmp_path, "judge")


OPENERS = ("The patient", "This patient", "He", "She", "The woman", "The man", "Pt")
VERBS = ("reports", "describes", "has", "complains of", "presents with", "mentions", "notes", "denies")
FINDINGS = ("a dry cough", "a productive cough", "mild fever", "chest pain", "wheezing", "fatigue", "a sore throat")
LINKS = ("and", "but", "while", "although", "with", "without", "as well as")
TIMES = ("since yesterday", "for three days", "for a week", "on exertion", "at night", "in the morning", "today")
ENDINGS = ("Rest is advised", "Plenty of fluids", "Review in a week", "No antibiotics", "Return if worse", "X-ray")
SLOTS = (OPENERS, VERBS, FINDINGS, LINKS, FINDINGS, TIMES, ENDINGS) * 5


@dataclass
class Chatter:
    """A model: for each prompt and slot, the probability of each wording (prompts x slots x wordings)."""

    weights: np.ndarray

    @classmethod
    def random(cls, draw: np.random.Generator, prompts: int, sharpness: float = 0.4) -> "Chatter":
        """A model with random preferences; the smaller ``sharpness``, the more similar its samples."""
        weights = np.zeros((prompts, len(SLOTS), max(map(len, SLOTS))))
        for prompt in range(prompts):
            for n, slot in enumerate(SLOTS):
                weights[prompt, n, : len(slot)] = draw.dirichlet(np.full(len(slot), sharpness))
        return cls(weights)

    def like(self, other: "Chatter", share: float) -> "Chatter":
        """A model of similar style: ``share`` of its preferences are those of ``other``."""
        return Chatter((1 - share) * self.weights + share * other.weights)

    def reply(self, draw: np.random.Generator, prompt: int) -> str:
        """One sampled reply."""
        chosen = (draw.random((len(SLOTS), 1)) > self.weights[prompt].cumsum(axis=1)).sum(axis=1)
        return " ".join(slot[min(n, len(slot) - 1)] for slot, n in zip(SLOTS, chosen, strict=True))


LEVEL = Role(base_url="https://api.example.com/v1", model="big").canary_level / PROBES
EXCHANGES = 8


def probe(model: Chatter, draw: np.random.Generator) -> Replies:
    return {p: [model.reply(draw, n) for _ in range(SAMPLES)] for n, p in enumerate(PROMPTS)}


def test_p_values_of_an_unchanged_sampling_model_are_below_a_level_as_often_as_it_says() -> None:
    draw = np.random.default_rng(1)
    found = []
    for _ in range(6):  # ten probes against the baseline of one epoch, as the schedule does
        model = Chatter.random(draw, len(PROMPTS))
        baseline = probe(model, draw)
        found += [change_p_value(probe(model, draw), baseline, level=LEVEL) for _ in range(10)]
    assert np.mean(np.array(found) < 0.05) < 0.12 and np.mean(np.array(found) < 0.5) > 0.3
    assert min(found) >= LEVEL, "no epoch is raised"


@pytest.mark.parametrize(("similar", "days"), [(0.0, 1), (0.5, 7)], ids=["another model", "a model of similar style"])
def test_exchanges_of_the_model_are_noticed(similar: float, days: int) -> None:
    """On the day of the exchange, or within a week if half of the new model's preferences are the old one's."""
    draw = np.random.default_rng(2)
    noticed = 0
    for _ in range(EXCHANGES):
        model = Chatter.random(draw, len(PROMPTS))
        other, baseline = Chatter.random(draw, len(PROMPTS)).like(model, similar), probe(model, draw)
        noticed += any(change_p_value(probe(other, draw), baseline, level=LEVEL) < LEVEL for _ in range(days))
    assert noticed >= EXCHANGES - 1


def test_a_deterministic_model_is_unchanged_until_more_than_one_reply_differs() -> None:
    fixed = {prompt: ["a cold is viral"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(fixed, fixed, level=LEVEL) == 1.0
    other = {prompt: ["bacteria are killed"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(other, fixed, level=LEVEL) < LEVEL
    flipped = fixed | {PROMPTS[0]: ["a cold is caused by viruses"] * SAMPLES}
    assert change_p_value(flipped, fixed, level=LEVEL) > LEVEL
    assert change_p_value({"a": ["x"]}, {"b": ["y"]}, level=LEVEL) == 1.0, "replies to other prompts are not compared"
