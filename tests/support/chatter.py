"""Models that sample their replies: sentences of slots, with model-specific preferences among wordings."""

from dataclasses import dataclass

import numpy as np

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
