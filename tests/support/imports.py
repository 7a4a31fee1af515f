"""Where the project lies, and which of its modules imports which."""

from flows.engine.imports import ROOT, imports_of, project_modules

__all__ = ["ROOT", "imports_of", "project_imports", "project_modules"]


def project_imports(module: str) -> set[str]:
    """The project's own modules that ``module`` imports, type-only imports included."""
    return {name for name in imports_of(module) if name in project_modules()}
