"""Texts in another language are recognised, and English ones in shorthand are not taken for it."""

import json

import pandas as pd
import pytest

from tasks.text.language import FUNCTION_WORDS, foreign_language, foreign_texts
from tests.support.sources import needs_sources, sources_folder

FOREIGN = {
    "German": "Der Patient klagt seit drei Tagen über Husten und hat keine Schmerzen in der Brust.",
    "French": "Le patient tousse depuis trois jours, sans fièvre, et ne se plaint pas de douleurs dans la poitrine.",
    "Spanish": "El paciente tiene tos desde hace tres días, sin fiebre, y no refiere dolor en el pecho.",
    "Italian": "Il paziente ha tosse da tre giorni, senza febbre, e non riferisce dolore alla gamba.",
    "Portuguese": "O paciente tem tosse há três dias, sem febre, e não refere dor no peito com a respiração.",
    "Dutch": "De patiënt hoest sinds drie dagen, heeft geen koorts en ook geen pijn bij het ademen.",
    "another script": "患者は三日前から咳があり、熱はない。",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_a_sentence_is_recognised(language: str) -> None:
    assert foreign_language(FOREIGN[language]) == language


@pytest.mark.parametrize(
    "text",
    ["", "38.5 °C", "Pt c/o dry cough x3d, no F/C. CTA b/l.", "Dx: COPD. Rx: prednisone 40 mg po qd. F/u 2/52.",
     "Husten.",
     "The patient, Mr. de la Cruz from Los Angeles, takes no drugs and has no fever."],
)  # fmt: skip
def test_english_and_what_is_too_short_to_tell_is_not_named(text: str) -> None:
    assert foreign_language(text) is None


def test_three_function_words_are_enough_and_two_are_not() -> None:
    words = FUNCTION_WORDS["German"].split()
    assert foreign_language(f"Husten {' '.join(words[:3])}") == "German"
    assert foreign_language(f"Husten {' '.join(words[:2])}") is None
    assert foreign_language(f"{' '.join(words[:5])} the of") == "German"
    assert foreign_language(f"{' '.join(words[:4])} the of") is None, "half as many of English are too many"


@needs_sources
def test_no_published_english_text_is_taken_for_another_language() -> None:
    aci = pd.concat([pd.read_csv(sources_folder() / "aci_bench" / f"{name}.csv") for name in ("test1", "train")])
    notes = (sources_folder() / "simsum" / "real_notes_50.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [
        *aci["dialogue"],
        *aci["note"],
        *(json.loads(line)[name] for line in notes for name in ("normal", "compact")),
    ]
    assert len(texts) >= 300
    assert foreign_texts((str(number), text) for number, text in enumerate(texts)) == {}
