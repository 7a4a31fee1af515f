"""A user's folder replaces prompts by name: it is checked, in the requests, the provenance and the fingerprint."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.repository.params import load_params
from schemas.errors import IdentityError, ParamsError
from tasks.llm.prompt_set import own_prompts, replaced, use_folder
from tasks.llm.prompts import problems, render, variables
from tasks.transport.fingerprint import Fingerprint, is_of, parse_fingerprint, require_recorded, simulator_identity
from tests.support.imports import ROOT

MINE = "[user]\nSplit this into claims, {{ limit }} at most, as {{ listed }}:\n{{ text }}\n"
FIELDS = {"heading": None, "text": "He coughs. [system]", "limit": 5, "listed": "JSON"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "doclens").mkdir()
    (tmp_path / "doclens" / "subclaims.txt").write_text(MINE)
    yield tmp_path
    use_folder(None)


def test_a_folder_replaces_the_prompts_that_it_has_and_no_other(folder: Path) -> None:
    before = render("tasks.measures.doclens", "subclaims", **FIELDS)
    use_folder(folder)
    (message,) = render("tasks.measures.doclens", "subclaims", **FIELDS)
    assert message.content == "Split this into claims, 5 at most, as JSON:\nHe coughs. [system]"
    assert list(replaced()) == ["doclens/subclaims"]
    use_folder(None)
    assert render("tasks.measures.doclens", "subclaims", **FIELDS) == before and replaced() == {}


def test_a_copy_of_a_prompt_that_ships_replaces_nothing(folder: Path) -> None:
    (folder / "doclens" / "subclaims.txt").write_text(own_prompts()["doclens/subclaims"])
    use_folder(folder)
    assert replaced() == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Split {{ text }}", "must begin with a line [system] or [user]"),
        ("[user]\nSplit {{ texte }} {{ text }}", "unknown field texte; expected of heading, limit, listed, text"),
        ("[user]\nSplit it", "lacks the field listed, text"),
        ("[user]\n{% if text %}", "line 2: "),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_named(text: str, said: str, folder: Path) -> None:
    assert any(said in line for line in problems("doclens/subclaims", text))
    (folder / "doclens" / "subclaims.txt").write_text(text)
    use_folder(folder)
    with pytest.raises(ParamsError, match="prompt doclens/subclaims: "):
        render("tasks.measures.doclens", "subclaims", **FIELDS)


def test_guidance_of_ours_may_be_left_out_and_texts_may_not() -> None:
    used, shown = variables(own_prompts()["doclens/entail_json"])
    assert {"premise", "claims"} <= shown <= used
    text = "[user]\n{{ premise }}\n{% for claim in claims %}{{ claim }}{% endfor %}"
    assert problems("doclens/entail_json", text) == []
    assert problems("doclens/entail_json", "[user]\n{{ premise }}") == ["lacks the field claims"]


def test_files_of_other_names_and_missing_folders_are_errors(folder: Path) -> None:
    misspelt = folder / "doclens" / "sub_claims.txt"
    misspelt.write_text(MINE)
    said = f"prompts.folder: {misspelt}: no prompt has this name; docs/prompts.md names them"
    with pytest.raises(ParamsError, match=rf"^{re.escape(said)}; did you mean doclens/subclaims\?$"):
        use_folder(folder)
    with pytest.raises(ParamsError, match="no such folder"):
        use_folder(folder / "nowhere")


def test_the_fingerprint_names_replaced_prompts_and_does_not_fit_others(folder: Path) -> None:
    role = load_params().roles["judge"]
    plain = Fingerprint("judge", simulator_identity(role))
    use_folder(folder)
    mine = Fingerprint("judge", simulator_identity(role))
    assert mine.label.startswith(f"{plain.label}, prompts ") and mine.key == plain.key
    assert parse_fingerprint(mine.to_json(), "judge") == mine and "prompts" not in plain.to_json()
    assert is_of(mine, role) and not is_of(plain, role)
    with pytest.raises(IdentityError, match="prompt doclens/subclaims was another when it was recorded"):
        require_recorded(plain, role, "judge")
    use_folder(None)
    assert is_of(plain, role) and not is_of(mine, role)


def test_params_name_the_folder_beside_them(folder: Path) -> None:
    text = (ROOT / "params.yaml").read_text().replace("prompts: {folder: null}", "prompts: {folder: own}")
    (folder / "params.yaml").write_text(text)
    (folder / "own" / "doclens").mkdir(parents=True)
    (folder / "own" / "doclens" / "subclaims.txt").write_text(MINE)
    load_params(folder / "params.yaml")
    assert list(replaced()) == ["doclens/subclaims"]
    (folder / "own" / "doclens" / "subclaims.txt").write_text("[user]\n{{ texte }}")
    with pytest.raises(ParamsError, match=r"params\.yaml: prompt doclens/subclaims: unknown field texte"):
        load_params(folder / "params.yaml")
    assert replaced() == {}, "nothing of what was refused is in use"
    (folder / "own" / "doclens" / "subclaims.txt").write_text("")
    with pytest.raises(ParamsError, match=r"own/doclens/subclaims\.txt: is empty"):
        load_params(folder / "params.yaml")
    load_params()
    assert replaced() == {}


def test_the_page_on_prompts_names_every_prompt() -> None:
    page, room = (ROOT / "docs" / "prompts.md").read_text(), ""
    named = set()
    for code in re.findall(r"`([a-z_/]+)`", page):
        room = code.partition("/")[0] if "/" in code else room
        named.add(code if "/" in code else f"{room}/{code}")
    assert set(own_prompts()) - named == set()
