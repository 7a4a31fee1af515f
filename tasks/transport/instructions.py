"""Instruction sets and threads of numeric libraries, set so that results have the same bytes on all x86-64 processors.

The libraries read the variables when they are loaded, so they are set before NumPy or torch is imported. Processes
started afterwards inherit them: joblib's workers, the workers of a local Dask cluster, the simulator. The workers of a
cluster elsewhere do not; vectors computed there under other settings have another identity.
"""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

AVX2: Mapping[str, str] = {
    "OPENBLAS_CORETYPE": "Haswell",  # NumPy's and SciPy's linear algebra: kernels of AVX2, also where there is AVX-512
    "OPENBLAS_NUM_THREADS": "1",  # products and decompositions are split, and so rounded, by the number of threads
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy's own loops: exp and log in AVX-512 differ
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # torch's packed linear layers, of the encoder
    "MKL_CBWR": "COMPATIBLE",  # torch's other products; MKL ignores AVX2 here on processors that are not Intel's
}
"""Value of each variable, and the arithmetic that it fixes."""

_SAID = "VIGNETTE_NATIVE_SAID"
"""Environment variable by which processes started by this one know that the processor has been reported."""
_CPUINFO = Path("/proc/cpuinfo")


def use_instruction_set(name: str) -> None:
    """Set the variables of AVX2 that are not set yet, in this process and for those that it starts; none for "native".

    On a processor without AVX2, or one that cannot be determined, nothing is set and one line says so. Nothing is set
    either once NumPy or torch is loaded, as in a notebook, since it would no longer take effect.
    """
    if name == "native" or not {"numpy", "torch"}.isdisjoint(sys.modules):
        return
    if has_avx2():
        for variable, value in AVX2.items():
            os.environ.setdefault(variable, value)
    elif _SAID not in os.environ:
        os.environ[_SAID] = "1"
        print(
            f"no AVX2 found on this processor ({platform.machine()}): the last digits of baselines and vectors may "
            "differ from those of other machines (runtime.instruction_set: native silences this)",
            file=sys.stderr,
        )


def has_avx2() -> bool:
    """Whether the processor has AVX2, as far as Linux says."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not _CPUINFO.is_file():
        return False
    flags = next((line for line in _CPUINFO.read_text().splitlines() if line.startswith("flags")), "")
    return {"avx2", "fma"} <= set(flags.split())


def torch_settings() -> str:
    """What fixes the bits of torch's results: empty with the instruction set of `AVX2`, else the settings in use."""
    names = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR")
    found = {name: os.environ.get(name, "") for name in names}
    if all(found[name] == AVX2[name] for name in names):
        return ""
    import torch

    return " ".join([torch.backends.cpu.get_cpu_capability(), *found.values()])
