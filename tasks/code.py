"""What code means: the modules and packaged files that functions reach, and hashes of these that ignore how it is put.

The hash of a module is that of its syntax tree, without comments, layout, docstrings of modules and functions, and
imports for types only. What stands in a class counts, docstrings too: that of a reply is sent to the model. The hash is
the same on every version of Python that the project runs on.
"""

import ast
import fnmatch
import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

FOLDERS = ("flows", "tasks", "schemas")
"""Folders of code."""
ROOT = Path(__file__).resolve().parents[1]
DECLARED = ("tasks/domains/", "tasks/papers/printed")
"""Folders of data files that a stage lists in dvc.yaml, each for itself: those of a domain, and printed tables."""
IN_PARTS = ("flows.stages.", "schemas.tables.")
"""Modules of which only the definitions count that are used: they hold several stages, or many tables."""

Place = tuple[str, str | None]
"""A module, and one of its definitions; None for all of it."""

_BY_NAME, _RENDER = ("importlib", "import_module"), ("tasks.llm.prompts", "render")
_TYPE_ONLY = "TYPE_CHECKING"
_IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


@dataclass
class Statement:
    """A statement of a module: its canonical form, what it defines, and what it refers to.

    One that defines nothing, such as an ``if`` or a call, belongs to every definition of its module.
    """

    text: str = ""
    defines: frozenset[str] = frozenset()
    names: set[str] = field(default_factory=set)
    imports: set[Place] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)


class Code:
    """The code in a folder, read from its text without running any of it."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self._statements: dict[str, list[Statement]] = {}
        self._imports: dict[str, set[Place]] = {}

    @cached_property
    def modules(self) -> dict[str, Path]:
        """File of every module by dotted name; a package's is its ``__init__.py``."""
        found = {}
        for folder in FOLDERS:
            for file in sorted((self.root / folder).rglob("*.py")):
                parts = file.relative_to(self.root).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
        return found

    @cached_property
    def files(self) -> dict[str, str]:
        """The package of every packaged data file, by its path in the root: the nearest folder that is a package."""
        found = {}
        for file in sorted(file for folder in FOLDERS for file in (self.root / folder).rglob("*") if file.is_file()):
            path = file.relative_to(self.root).as_posix()
            if file.suffix not in (".py", ".pyc") and not path.startswith(DECLARED):
                folders = [".".join(folder.parts) for folder in Path(path).parents]
                found[path] = next(name for name in folders if name in self.modules)
        return found

    def statements(self, module: str) -> list[Statement]:
        """The statements of a module."""
        if module not in self._statements:
            self._statements[module] = _statements(self.modules[module].read_bytes())
        return self._statements[module]

    def used(self, module: str, names: Iterable[str]) -> list[Statement]:
        """The statements of a module that its definitions ``names`` use, and those that define nothing."""
        by_name = defaultdict(list)
        for number, statement in enumerate(self.statements(module)):
            for name in statement.defines or ("",):
                by_name[name].append(number)
        seen, waiting, found = set(), ["", *names], set[int]()
        while waiting:
            if (name := waiting.pop()) not in seen:
                seen.add(name)
                found.update(by_name[name])
                waiting += [other for number in by_name[name] for other in self.statements(module)[number].names]
        return [self.statements(module)[number] for number in sorted(found)]

    def imported(self, module: str, statements: Iterable[Statement]) -> set[Place]:
        """What statements of a module import of the project."""
        found = set[Place]()
        for base, name in {place for statement in statements for place in statement.imports}:
            inner = f"{base}.{name}"
            found |= {(inner, None)} if inner in self.modules else {(base, name)} if base in self.modules else set()
        return found

    def imported_by_name(self, module: str) -> set[Place]:
        """The modules that a module names in strings, if it uses ``import_module``; ``module:function`` names one.

        A name of a folder of code with a ``*`` names all modules that fit.
        """
        if not any(_BY_NAME in one.imports for one in self.statements(module)):
            return set()
        named = {text.partition(":")[0] for one in self.statements(module) for text in one.strings}
        package = module.rpartition(".")[0]
        found = {(one, None) for text in named for one in (text, f"{package}.{text}") if one in self.modules}
        patterns = [text for text in named if "*" in text and text.partition(".")[0] in FOLDERS]
        return found | {(one, None) for text in patterns for one in fnmatch.filter(self.modules, text)}

    def reached(
        self, roots: Iterable[Place], beyond: Collection[str] = (), *, by_name: bool = True
    ) -> dict[str, list[Statement]]:
        """The modules that ``roots`` import at any depth, their packages too, with the statements that count.

        Modules of ``beyond`` are left out, and so are those that are imported through them only; without ``by_name``,
        those that are imported by name only.
        """
        names: dict[str, set[str] | None] = {}
        waiting, seen = list(roots), set[Place]()
        while waiting:
            module, name = waiting.pop()
            name = name if module.startswith(IN_PARTS) else None
            if (module, name) in seen or module in beyond:
                continue
            seen.add((module, name))
            before = names.get(module, set())
            names[module] = None if before is None or name is None else {*before, name}
            if name is not None:
                waiting += self.imported(module, self.used(module, [name]))
            elif module in self._imports:
                waiting += self._imports[module]
            else:
                self._imports[module] = self.imported(module, self.statements(module))
                waiting += self._imports[module]
            waiting += self.imported_by_name(module) if by_name else ()
            waiting += [(module.rpartition(".")[0], None)] if "." in module else []
        return {
            module: self.statements(module) if parts is None else self.used(module, parts)
            for module, parts in sorted(names.items())
        }

    def packaged(self, modules: Mapping[str, Iterable[Statement]]) -> set[str]:
        """The packaged data files that modules read.

        A prompt is read by the modules of its package, and by those that render prompts and name the package; another
        file by those of its room that name it, else with the template that includes it, else by its package.
        """
        strings = {module: {text for one in found for text in one.strings} for module, found in modules.items()}
        rendering = [module for module, found in modules.items() if any(_RENDER in one.imports for one in found)]
        packages = {module.rpartition(".")[0] for module in modules} | {*modules}
        asking = packages.union(*(strings[module] for module in rendering))
        found = set[str]()
        for path, package in self.files.items():
            if Path(path).parent.name == "prompts":
                found |= {path} if package in asking else set()
            elif named := self._named[path]:
                names = _names(path)
                found |= {path} if any(names & strings.get(module, set()) for module in named) else set()
            elif not self._including[path]:
                found |= {path} if package in packages else set()
        waiting = list(found)
        while waiting:
            path = waiting.pop()
            more = {other for other, within in self._including.items() if path in within} - found
            found |= more
            waiting += more
        return found

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The modules of its room that name a data file, by its path."""
        naming = defaultdict(list)
        rooms = set(map(room, self.files.values()))
        for module in (one for one in self.modules if room(one) in rooms):
            for text in {text for one in self.statements(module) for text in one.strings}:
                naming[room(module), text].append(module)
        return {
            path: [module for name in _names(path) for module in naming[room(package), name]]
            for path, package in self.files.items()
        }

    @cached_property
    def _including(self) -> dict[str, list[str]]:
        """The templates that include a data file, by its path."""
        texts = {path: (self.root / path).read_text("utf-8") for path in self.files if path.endswith(".html")}
        return {
            path: [other for other, text in texts.items() if other != path and f'"{Path(path).name}"' in text]
            for path in self.files
        }

    def hashes(self, modules: Mapping[str, Iterable[Statement]], files: Iterable[str]) -> dict[str, str]:
        """Hashes of the statements of modules, by module, and of the bytes of files, by path; not of empty modules."""
        texts = {module: "\n".join(one.text for one in statements) for module, statements in modules.items()}
        found = {module: _digest(text.encode("utf-8", "surrogatepass")) for module, text in texts.items() if text}
        return dict(sorted((found | {path: _digest((self.root / path).read_bytes()) for path in files}).items()))


def room(module: str) -> str:
    """The package of ``flows``, ``tasks`` or ``schemas`` that a module is in."""
    return ".".join(module.split(".")[:2])


def _names(path: str) -> set[str]:
    return {Path(path).name, Path(path).stem}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _statements(content: bytes) -> list[Statement]:
    """The statements of a module's text; most modules are the same in two trees."""
    return list(map(_read, _split(ast.parse(content))))


def _split(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module but strings; each imported name has its own."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (ast.Import([alias]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (ast.ImportFrom(node.module, [alias], node.level) for alias in node.names)
        elif not _is_string(node) and not _is_type_only(node):
            yield node


def _read(node: ast.stmt) -> Statement:
    found = Statement(defines=_defined(node))
    parts: list[str] = []
    _walk(node, parts, found)
    found.text = " ".join(parts)
    return found


def _defined(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset(alias.asname or alias.name.split(".")[0] for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.elts if isinstance(target, ast.Tuple) else [target] for target in targets]
    flat = [one.id if isinstance(one, ast.Name) else None for part in names for one in part]
    return frozenset(name for name in flat if name) if None not in flat else frozenset()


def _walk(node: ast.AST, parts: list[str], found: Statement) -> None:
    """Append the canonical form of a node: its fields by name, without those that are empty."""
    parts.append(f"({type(node).__name__}")
    if isinstance(node, ast.Name):
        found.names.add(node.id)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        found.strings.add(node.value)
    elif isinstance(node, ast.Import):
        found.imports.update((alias.name, None) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        found.imports.update((node.module or "", alias.name) for alias in node.names)
    for name in node._fields:
        value = getattr(node, name, None)
        if name in _IGNORED or (value is None and name != "value"):
            continue
        if isinstance(value, ast.AST):
            parts.append(name)
            _walk(value, parts, found)
        elif not isinstance(value, list):
            parts.append(f"{name} {value!r}")
        elif kept := [one for one in value if not _is_dropped(one, node)]:
            parts.append(f"{name}[")
            for one in kept:
                if isinstance(one, ast.AST):
                    _walk(one, parts, found)
                else:
                    parts.append(repr(one))
            parts.append("]")
    parts.append(")")


def _is_dropped(node: object, within: ast.AST) -> bool:
    """Whether a part means nothing: a string that is a statement, an import for types only, an empty part of text.

    Python 3.12 has the last at the end of some f-strings, and other versions have not.
    """
    if isinstance(within, ast.JoinedStr):
        return isinstance(node, ast.Constant) and node.value == ""
    return (not isinstance(within, ast.ClassDef) and _is_string(node)) or _is_type_only(node)


def _is_string(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_type_only(node: object) -> bool:
    return (
        isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == _TYPE_ONLY and not node.orelse
    )
