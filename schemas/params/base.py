"""The base of every params section, and values that sections share."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from schemas.errors import ParamsError

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Pattern of a name that a file or a table is named after."""
Device = Literal["cpu", "cuda", "auto"]
"""Where neural models compute; ``auto`` is a GPU if there is one."""


def _rising(given: list[int]) -> list[int]:
    if sorted(set(given)) != given:
        raise ValueError(f"must rise; found {given}")
    return given


Rising = Annotated[list[Annotated[int, Field(ge=0)]], AfterValidator(_rising)]


class Section(BaseModel):
    """A frozen section of params.yaml; an unknown key is an error, never ignored.

    The string below a field is its description in the reference, which is read from the source.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def declared_only(self, declared: Collection[str], prefix: str = "") -> Self:
        """A copy that has the params named in ``declared`` (``doclens`` or ``doclens.notes``), and no other.

        Reading another param raises ParamsError: a stage must not depend on what dvc.yaml does not list for it.
        """
        copy = self.model_copy()
        for name in type(self).model_fields:
            path, value = f"{prefix}{name}", getattr(self, name)
            if path in declared:
                continue
            if isinstance(value, Section) and any(entry.startswith(f"{path}.") for entry in declared):
                copy.__dict__[name] = value.declared_only(declared, f"{path}.")
            else:
                del copy.__dict__[name]
        return copy

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Explain why a param is missing; pydantic looks here for what it does not find."""
            if name in type(self).model_fields:
                raise ParamsError(
                    f"the stage reads param {name} of {type(self).__name__}, which dvc.yaml does not list; add it "
                    "to the params of the stage"
                )
            return super().__getattr__(name)
