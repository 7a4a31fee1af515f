"""The failure of one request, apart from the client library, which takes a second to load."""


class SendFailure(Exception):
    """A request that brought no usable reply.

    ``kind``: "fatal" (no request can succeed), "rejected" (this request cannot), "busy" (asked to slow down), "garbled"
    (a reply that is no chat completion) or "lost" (timeouts, dropped lines, server errors). ``wait_s`` is the wait that
    the endpoint asked for; ``code`` and ``param`` are those of an OpenAI-style error.
    """

    def __init__(
        self,
        kind: str,
        reason: str,
        wait_s: float | None = None,
        status: int | None = None,
        code: str = "",
        param: str = "",
    ) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.wait_s, self.status = kind, reason, wait_s, status
        self.code, self.param = code, param

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed in a later run."""
        return self.kind in ("busy", "lost")
