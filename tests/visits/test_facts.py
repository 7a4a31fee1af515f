"""Facts over time follow from the table of visits alone, and a second reading of the raw table finds the same."""

import pandas as pd
import pytest

from schemas.tables.visits import HISTORY_FACTS
from tasks.domains.in_use import domain_names
from tasks.visits.facts import Fact, facts_of, history_facts
from tests.support.histories import facts_by_patient, random_visits, worder_of


def second_reading(visits: pd.DataFrame, domain: str) -> set[tuple]:
    """Facts as (patient, kind, item, value, start, end), by columns of the whole table, not by patient."""
    worder = worder_of(domain)
    rules, found = worder.rules, set()
    first = visits[visits["visit"] == 1]
    for name in rules.conditions:
        having = first[first[name] == worder.network.values(name)[1]]
        found |= {(patient, "trait", name, "", 0, None) for patient in having["patient"]}
    for name in rules.symptoms:
        present = (visits[name] != rules.absent_value[name]).rename("present")
        runs = (present != present.groupby(visits["patient"]).shift()).cumsum()
        for _, run in visits[present].groupby([visits["patient"], runs]):
            patient, last = run["patient"].iloc[0], run["visit"].iloc[-1]
            after = visits[(visits["patient"] == patient) & (visits["visit"] == last + 1)]["day"]
            end = int(after.iloc[0]) if len(after) else None
            found.add((patient, "episode", name, "", int(run["day"].iloc[0]), end))
        if len(worder.network.values(name)) > 2:
            shown = visits[present]
            levels = zip(shown["patient"], shown[name], shown["day"], strict=True)
            found |= {(p, "level", name, v, d, None) for p, v, d in levels}
    for name in worder.words.treatments:
        given = visits[visits[name] == "yes"]
        found |= {(p, "treatment", name, "yes", d, None) for p, d in zip(given["patient"], given["day"], strict=True)}
    for name in worder.words.outcomes:
        some = visits[visits[name] > 0]
        found |= {
            (p, "decision", name, str(v), d, None)
            for p, v, d in zip(some["patient"], some[name], some["day"], strict=True)
        }
    return found


@pytest.mark.parametrize("domain", domain_names())
def test_a_second_reading_of_the_raw_table_finds_the_same_facts(domain: str) -> None:
    visits, worder = random_visits(domain, 400), worder_of(domain)
    table = history_facts(visits, worder)
    HISTORY_FACTS.validate(table)
    mine = {
        (row.patient, row.kind, row.item, row.value, row.start, None if pd.isna(row.end) else row.end)
        for row in table.itertuples()
    }
    assert mine == second_reading(visits, domain)
    assert set(table["kind"]) == {"trait", "episode", "level", "treatment", "decision"}


def test_facts_do_not_depend_on_the_order_of_rows_or_on_other_patients() -> None:
    visits, worder = random_visits("respiratory", 30), worder_of("respiratory")
    whole = history_facts(visits, worder)
    pd.testing.assert_frame_equal(history_facts(visits.sample(frac=1, random_state=1), worder), whole)
    alone = history_facts(visits[visits["patient"] == 7], worder)
    pd.testing.assert_frame_equal(alone, whole[whole["patient"] == 7].reset_index(drop=True))


def test_a_symptom_that_returns_is_two_episodes_and_the_last_goes_on() -> None:
    worder = worder_of("respiratory")
    visits = random_visits("respiratory", 1, most=1).to_dict("records")[0]
    values = ["yes", "yes", "no", "yes"]
    history = [{**visits, "visit": n + 1, "day": 10 * n, "cough": value} for n, value in enumerate(values)]
    coughs = [fact for fact in facts_of(history, worder.network, worder.rules, worder.words) if fact.item == "cough"]
    assert coughs == [Fact("episode", "cough", 0, end=20), Fact("episode", "cough", 30)]
    assert worder.claim(coughs[0], 0).endswith("ended by 2012-10-13.")
    assert "ended" not in worder.claim(coughs[1], 0)


@pytest.mark.parametrize("domain", domain_names())
def test_claims_tell_all_facts_of_a_patient_apart_and_denials_are_none_of_them(domain: str) -> None:
    visits, worder = random_visits(domain, 200), worder_of(domain)
    for patient, facts in facts_by_patient(history_facts(visits, worder)).items():
        claims = {worder.claim(fact, patient) for fact in facts}
        statements = {worder.statement(fact, patient) for fact in facts}
        assert len(claims) == len(statements) == len({fact.key for fact in facts}) == len(facts)
        assert not {worder.denial(fact, patient) for fact in facts} & statements
