"""The project's folder, and the imports between its modules."""

from flows.engine.imports import ROOT, imports_of, project_modules

__all__ = ["ROOT", "imports_of", "project_imports", "project_modules"]


def project_imports(module: str) -> set[str]:
    """The project's modules that ``module`` imports, including type-only imports."""
    return {name for name in imports_of(module) if name in project_modules()}
