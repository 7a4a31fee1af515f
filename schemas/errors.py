"""The errors a user can meet. Each message names what was found, what was expected and what to do.

VignetteError
├── ParamsError      a key or value of params.yaml
├── TableError       an artefact with missing or wrong columns or values
├── SourceError      outside data that is malformed
│   └── MissingSourceError   a file of it that is not there
├── NetworkError     a network definition or evidence that does not fit it
├── EndpointError    an endpoint that is unreachable, refuses the key or does not know the model
├── IdentityError    the model behind an endpoint is not the one in fingerprints/
├── BudgetError      the cap in dollars or tokens is reached
├── StoreError       the response store cannot be read or written
├── OrphanError      the process that started the stage is gone
└── UnscoredError    more rows than allowed could not be scored
"""


class VignetteError(Exception):
    """Base of all errors shown to the user as one line, without a traceback."""


class BusyError(VignetteError):
    """Another run works in the same clone."""


class ParamsError(VignetteError):
    """A key or value of params.yaml is unknown, missing or of the wrong type."""


class TableError(VignetteError):
    """An artefact has missing or wrong columns or values."""


class SourceError(VignetteError):
    """Outside data is missing or malformed."""


class MissingSourceError(SourceError):
    """A file of outside data is not there."""


class NetworkError(VignetteError):
    """A network definition is invalid, or evidence does not fit the network."""


class EndpointError(VignetteError):
    """An endpoint is unreachable, refuses the key, or does not serve the model."""


class IdentityError(VignetteError):
    """The model behind an endpoint is not the one recorded in fingerprints/."""


class BudgetError(VignetteError):
    """The run-wide cap in dollars or tokens is reached."""


class StoreError(VignetteError):
    """The response store cannot be read or written."""


class OrphanError(VignetteError):
    """The process that started the stage is gone, so the stage stops calling."""


class UnscoredError(VignetteError):
    """More rows than the allowed share could not be scored."""
