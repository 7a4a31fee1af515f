"""Fitted parameters are the same bytes on all processors."""

import os
import platform
import subprocess
import sys

import pytest

FIT = """
from tasks.network.fitting import fit
from schemas.params.records import Fit
from tasks.network.sampling import sample
from tests.support.records import NETWORK
fitted = fit(NETWORK, sample(NETWORK, 800, 7), Fit(optimiser="newton"))
print([repr(fitted.variable(name).distribution) for name in fitted.variables])
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="OpenBLAS kernels of x86 processors")
def test_fit_does_not_depend_on_the_processor() -> None:
    fits = {
        kind: subprocess.run(
            [sys.executable, "-c", FIT],
            env={**os.environ, "OPENBLAS_CORETYPE": kind},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kind in ("Nehalem", "Haswell")
    }
    assert "Noisy" in fits["Haswell"]
    assert fits["Nehalem"] == fits["Haswell"]
