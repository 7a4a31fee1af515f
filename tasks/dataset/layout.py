"""SimSUM's published layout: column names, value names and symptom names (repository prabaey/SimSUM, README)."""

COLUMNS = {
    # record table -> SimSUM.csv
    "asthma": "asthma",
    "smoking": "smoking",
    "COPD": "COPD",
    "hay_fever": "hay_fever",
    "season": "season",
    "pneumonia": "pneu",
    "common_cold": "cold",
    "dyspnea": "dysp",
    "cough": "cough",
    "pain": "pain",
    "fever": "fever",
    "nasal": "nasal",
    "policy": "policy",
    "self_employed": "self_empl",
    "antibiotics": "antibiotics",
    "days_at_home": "days_at_home",
}
NOTE, COMPACT = "text", "advanced_text"
COUNT = "days_at_home"

OTHER_NAMES = {"cold": ("inf",), "season": ("winter",)}
"""Alternative column names in some released files."""

VALUES = {
    **dict.fromkeys(COLUMNS, ("no", "yes")),
    "season": ("summer", "winter"),
    "fever": ("none", "low", "high"),
    "policy": ("low", "high"),
}
OTHER_VALUES = {"season": {"no": "summer", "yes": "winter"}}
"""Alternative value names in some released files."""

SYMPTOMS = {
    # record table -> span files
    "dyspnea": "dyspnea",
    "cough": "cough",
    "pain": "respiratory pain",
    "fever": "fever",
    "nasal": "nasal symptoms",
}
INDEX_NAMES = ("record", "", "Unnamed: 0", "index", "id")
"""Columns that may hold the record ids; without any of them records are numbered in order."""
