"""The recorded judgements of published outputs on ACI-BENCH answer all that is asked, and are usable as they came."""

import asyncio

import pytest

from flows.repository.params import load_params
from flows.stages.doclens import CITED, CITING, PRECISE, claims_table, judge_claims
from flows.stages.recorded_judge import CASSETTES, STRONG, recorded
from schemas.tables.verdicts import VERDICTS
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.measures.doclens.published import ACI_BENCH, OPEN_SYSTEMS, RULES_JUDGE, judged_by_rules
from tasks.texts.aci_bench import read_encounters
from tasks.texts.document import Document
from tests.measures.med_omit_examples import judge_recorded
from tests.support.sources import needs_sources, sources_folder

PARAMS = load_params()


@pytest.fixture(scope="module")
def encounters() -> list[Document]:
    folder = sources_folder()
    return read_encounters(folder, PARAMS.doclens.systems, subclaims=True)


@pytest.mark.outside
@needs_sources
def test_every_request_has_its_reply_and_every_reply_its_request(encounters: list[Document]) -> None:
    ask = recorded("aci_bench")
    claims = asyncio.run(judge_claims(encounters, ask, ask, PARAMS.doclens))
    assert claims["unscored"].empty
    judge_recorded(encounters, ask)
    assert ask.used == set(read_recorded(CASSETTES / "aci_bench.jsonl.gz"))

    judged = claims["verdicts"]
    documents = judged.groupby(["system", "metric"])["document"].nunique()
    for system in (*OPEN_SYSTEMS, *ACI_BENCH.values()):
        assert documents[system].to_dict() == {"claim_precision": PRECISE, "claim_recall": len(encounters)}
    assert documents[CITING, "citation_recall"] == CITED and judged["reason"].notna().mean() > 0.75

    few = judged[judged["document"].isin([one.id for one in encounters[:2]])]
    shown = VERDICTS.validate(claims_table(few, asyncio.run(judged_by_rules(few, encounters))))
    by_rules = shown[shown["judge"] == RULES_JUDGE]
    assert by_rules["value"].notna().sum() == few["metric"].str.startswith("claim").sum() > 0


@needs_sources
def test_other_prompts_find_no_reply_and_nothing_is_found(encounters: list[Document]) -> None:
    """Claims on sections that an output lacks are not recalled, without a question."""
    ask = RecordedAsk(STRONG, {})
    claims = asyncio.run(judge_claims(encounters[:2], ask, ask, PARAMS.doclens))
    assert not claims["verdicts"]["value"].eq(True).any() and claims["verdicts"]["value"].isna().any()
    assert claims["unscored"]["reason"].str.contains("no recorded reply").any()
