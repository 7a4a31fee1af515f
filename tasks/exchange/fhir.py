"""Records and notes as FHIR R4B resources (hl7.org/fhir/R4B), one newline-delimited JSON file for each resource type.

A record becomes a Patient with one Encounter. Conditions and diagnoses are Conditions, refuted where the patient has
none; symptoms, other facts and counts are Observations; treatments that were given are MedicationRequests; both
versions of the note are DocumentReferences. Every resource is labelled as test health data. A concept has its name as
text, and a code only where the domain's ``codes.yaml`` states one. There are no dates: a single record has none.

A patient with several visits becomes one Patient with an Encounter, its findings and one DocumentReference for each
visit, all dated, and a Bundle that a server takes as one transaction.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Resource = dict[str, Any]
Coding = Mapping[str, str]
"""``system``, ``code`` and ``display``."""

TEST_DATA = {"system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HTEST"}
_TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"
_CONDITION_TYPES = ("underlying condition", "diagnosis")
_CATEGORIES = {"symptom": "exam", "non-clinical": "social-history", "outcome": "survey"}
"""Category of observations by the type of their variable."""
_FACT_TYPES = (*_CONDITION_TYPES, *_CATEGORIES, "treatment")
"""Types of the variables that have a resource."""
_DATED = {"Condition": "recordedDate", "Observation": "effectiveDateTime", "MedicationRequest": "authoredOn"}
"""The element with the date of a finding, by resource type."""


class Network(Protocol):
    """What the resources need to know of a domain's variables."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in order."""
        ...

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a variable, the reference first; empty for a count."""
        ...

    def of_type(self, *types: str) -> tuple[str, ...]:
        """The variables of these types."""
        ...


def write_fhir(
    records: Sequence[Mapping[str, Any]],
    notes: Mapping[str, Mapping[int, str]],
    network: Network,
    codes: Mapping[str, Coding],
) -> dict[str, str]:
    """Contents by file name, ``<resource type>.ndjson``, in the order of ``records`` and of the network's variables.

    ``records``: a value by variable, and ``record``. ``notes``: texts by version and record. ``codes``: by variable.
    """
    lines: dict[str, list[str]] = {}
    for record in records:
        texts = {version: of_record[record["record"]] for version, of_record in notes.items()}
        for resource in resources(record, texts, network, codes):
            lines.setdefault(resource["resourceType"], []).append(json.dumps(resource, ensure_ascii=False))
    return {f"{kind}.ndjson": "\n".join([*found, ""]) for kind, found in sorted(lines.items())}


def write_patients(
    visits: Sequence[Mapping[str, Any]], network: Network, codes: Mapping[str, Coding]
) -> dict[str, str]:
    """As `write_fhir` for patients with several visits, and ``bundles/patient-<number>.json`` of each patient.

    ``visits``: a value by variable, and patient, visit, date (ISO 8601) and note, sorted by patient and visit.
    """
    by_patient: dict[int, list[Mapping[str, Any]]] = {}
    for visit in visits:
        by_patient.setdefault(int(visit["patient"]), []).append(visit)
    lines: dict[str, list[str]] = {}
    bundles: dict[str, str] = {}
    for patient, own in by_patient.items():
        found = list(patient_resources(patient, own, network, codes))
        for resource in found:
            lines.setdefault(resource["resourceType"], []).append(json.dumps(resource, ensure_ascii=False))
        bundle = json.dumps(_bundle(f"patient-{patient}", found), ensure_ascii=False, indent=1)
        bundles[f"bundles/patient-{patient}.json"] = f"{bundle}\n"
    return {**{f"{kind}.ndjson": "\n".join([*found, ""]) for kind, found in sorted(lines.items())}, **bundles}


def patient_resources(
    patient: int, visits: Sequence[Mapping[str, Any]], network: Network, codes: Mapping[str, Coding]
) -> Iterator[Resource]:
    """The resources of a patient with several visits; ids are those of the patient, with the number of the visit."""
    name = f"patient-{patient}"
    yield _resource("Patient", name, identifier=[{"system": "urn:vignette:patient", "value": str(patient)}])
    for visit in visits:
        record = f"{name}-visit-{visit['visit']}"
        texts = {"normal": str(visit["note"])}
        yield from _visit(record, name, visit, texts, network, codes, date=str(visit["date"]))


def _bundle(name: str, found: Sequence[Resource]) -> Resource:
    """A transaction that creates or replaces the resources under their own ids."""
    entries = [
        {"resource": one, "request": {"method": "PUT", "url": f"{one['resourceType']}/{one['id']}"}} for one in found
    ]
    return _resource("Bundle", name, type="transaction", entry=entries)


def resources(
    record: Mapping[str, Any], texts: Mapping[str, str], network: Network, codes: Mapping[str, Coding]
) -> Iterator[Resource]:
    """The resources of one record; their ids begin with ``record-<number>``."""
    name = f"record-{record['record']}"
    yield _resource("Patient", name, identifier=[{"system": "urn:vignette:record", "value": str(record["record"])}])
    yield from _visit(name, name, record, texts, network, codes)


def _visit(
    name: str,
    patient: str,
    record: Mapping[str, Any],
    texts: Mapping[str, str],
    network: Network,
    codes: Mapping[str, Coding],
    date: str | None = None,
) -> Iterator[Resource]:
    """The Encounter ``name`` of a Patient, what was found and decided there, and its notes."""
    subject = {"subject": {"reference": f"Patient/{patient}"}}
    encounter = {"reference": f"Encounter/{name}"}
    period = {"period": {"start": date, "end": date}} if date else {}
    outpatient = {"system": f"{_TERMINOLOGY}/v3-ActCode", "code": "AMB", "display": "ambulatory"}
    yield _resource("Encounter", name, status="finished", **{"class": outpatient}, **subject, **period)
    kinds = {variable: kind for kind in _FACT_TYPES for variable in network.of_type(kind)}
    for variable in network.variables:
        fact = _fact(f"{name}-{_id(variable)}", variable, kinds[variable], record[variable], network, codes)
        if fact is not None:
            dated = {_DATED[fact["resourceType"]]: date} if date else {}
            yield fact | subject | {"encounter": encounter} | dated
    for version, text in sorted(texts.items()):
        attachment = {"contentType": "text/plain; charset=utf-8", "data": base64.b64encode(text.encode()).decode()}
        yield _resource(
            "DocumentReference",
            f"{name}-note-{version}",
            status="current",
            type={"text": f"clinical note, {version}"},
            content=[{"attachment": attachment}],
            context={"encounter": [encounter], **period},
            **subject,
        )


def _fact(
    name: str, variable: str, kind: str, value: object, network: Network, codes: Mapping[str, Coding]
) -> Resource | None:
    """The resource of a variable's value; None for a treatment that was not given."""
    values = network.values(variable)
    concept: Resource = {"text": variable.replace("_", " ")}
    if variable in codes:
        concept = {"coding": [dict(codes[variable])], **concept}
    if kind in _CONDITION_TYPES and len(values) == 2:
        present = value != values[0]
        status = _coded("condition-ver-status", "confirmed" if present else "refuted")
        active = {"clinicalStatus": _coded("condition-clinical", "active")} if present else {}
        return _resource("Condition", name, **active, verificationStatus=status, code=concept)
    if kind == "treatment":
        if value == values[0]:
            return None
        return _resource(
            "MedicationRequest", name, status="completed", intent="order", medicationCodeableConcept=concept
        )
    found = {"valueString": str(value)} if values else {"valueInteger": int(str(value))}
    category = [_coded("observation-category", _CATEGORIES.get(kind, "exam"))]
    return _resource("Observation", name, status="final", category=category, code=concept, **found)


def _resource(kind: str, name: str, **fields: Any) -> Resource:
    return {"resourceType": kind, "id": name, "meta": {"security": [TEST_DATA]}, **fields}


def _coded(system: str, code: str) -> Resource:
    return {"coding": [{"system": f"{_TERMINOLOGY}/{system}", "code": code}]}


def _id(variable: str) -> str:
    """A variable's name in the characters of FHIR ids."""
    return variable.replace("_", "-")
