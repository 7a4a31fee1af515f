"""SimSUM's evidence settings (Section 3.2), as the network's users know them; every room may import their home."""

from schemas.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns

__all__ = ["EVIDENCE_SETTINGS", "EvidenceSetting", "evidence_columns"]
