"""Every kind of interval and the comparison of lineages at a million rows: seconds, and memory below 2 GB.

Each kind runs in a process of its own, whose peak memory is that of the data and the method.
"""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.soak

ROWS, MEGABYTES = 1_000_000, 2000
SETUP = """
import json, resource, time
import numpy as np
draw, n = np.random.default_rng(1), {rows}
yes, other = (draw.random(n) < 0.8).astype(float), (draw.random(n) < 0.7).astype(float)
scores, more = draw.integers(0, 11, (2, n)) / 10
notes = np.repeat(np.arange(n // 10), 10)
begun = time.process_time()
"""
KINDS = {
    "share": ("from tasks.statistics.intervals import mean_interval", "mean_interval(yes)", 5),
    "share, clusters": (
        "from tasks.statistics.intervals import mean_interval",
        "mean_interval(yes, clusters=notes)",
        5,
    ),
    "counts": (
        "from tasks.statistics.intervals import COUNT, mean_interval",
        "mean_interval(10 * scores, bounds=COUNT)",
        5,
    ),
    "ratio": ("from tasks.statistics.intervals import ratio_interval", "ratio_interval(scores, scores + 1)", 5),
    "difference": (
        "from tasks.statistics.intervals import difference_interval",
        "difference_interval(scores - more, clusters=notes)",
        5,
    ),
    "kappa": (
        "from tasks.statistics.agreement import kappa_interval",
        "kappa_interval(*np.rint(10 * np.stack([scores, more])).astype(int), 'linear', clusters=notes)",
        10,
    ),
    "alpha": (
        "from tasks.statistics.agreement import krippendorff_interval",
        "krippendorff_interval(np.stack([scores, more]))",
        40,
    ),
    **{
        kind: (
            "from tasks.statistics.agreement import correlation_interval",
            f"correlation_interval(scores, scores + draw.normal(size=n), {kind!r}, clusters=notes)",
            30,
        )
        for kind in ("pearson", "spearman", "kendall")
    },
    "detection": (
        "from tasks.statistics.metric_rows import detection_rows",
        "detection_rows(yes > 0, other > 0, notes, seed=1)",
        10,
    ),
    "powered share": (
        "from tasks.statistics.prediction_powered import powered_share",
        "powered_share(yes[:10**5], other[:10**5], other[10**5:], seed=1, clusters=notes[:10**5], "
        "clusters_only=notes[10**5:])",
        20,
    ),
    "corrected share": (
        "from tasks.statistics.misclassification import corrected_mean",
        "corrected_mean(scores, np.repeat([1, 0], n), np.r_[yes, 1 - other], np.tile(notes, 2), seed=1)",
        10,
    ),
    "comparison of five measures": (
        "from tasks.tracking.comparison import compare_all\n"
        "from tasks.tracking.pairing import pair\n"
        "from tasks.tracking.measures import Measure\n"
        "def of(values, item):\n"
        "    parts = values.astype(np.float32)[:, None, None, None]\n"
        "    return Measure(('s', '', 'c', item, 'score'), np.arange(n), parts)",
        "compare_all([[pair(of(a, str(k)), of(b, str(k))) for k in range(5) "
        "for a, b in [(scores, more) if k % 2 else (yes, other)]]], seed=1)",
        30,
    ),
}
"""Imports, call and seconds of processor time."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_rows_take_seconds_and_less_than_two_gigabytes(kind: str) -> None:
    imports, call, seconds = KINDS[kind]
    report = (
        "print(json.dumps([time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3]))"
    )
    script = "\n".join([imports, SETUP.format(rows=ROWS), call, report])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    took, megabytes = json.loads(done.stdout)
    print(f"\n{kind}: {took:.1f} s, {megabytes:.0f} MB")
    assert took < seconds and megabytes < MEGABYTES
