"""What the table of summaries of patients over time says: metrics against the record, and what it computes of them."""

from tasks.measures.declared import Declared
from tasks.measures.history.metrics import MEANINGS, OF_FACTS, OF_STATEMENTS, STAGE

MEASURE = Declared(STAGE, {**OF_FACTS, **OF_STATEMENTS}, of_table={STAGE: MEANINGS})
