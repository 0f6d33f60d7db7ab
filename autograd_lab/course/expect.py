"""`with lab.expect(RuntimeError, "second time"):` for the cells that must raise.

A cell tagged `raises-exception` passes with any exception. This block passes only for the announced kind of
error with the announced words in it, shows the message, and lets the notebook continue.
"""

import warnings
from types import TracebackType

from .outputs import say


class expect:  # noqa: N801 (used as a statement, like contextlib's managers)
    """Run a block that must raise `kind` with `text` in its message; show that message.

    For a subclass of Warning, the block must issue the warning instead.

    >>> with expect(ZeroDivisionError, "division") as caught:
    ...     1 / 0
    ZeroDivisionError: division by zero
    >>> caught.message
    'division by zero'
    """

    def __init__(self, kind: type[BaseException], text: str) -> None:
        self.kind = kind
        self.text = text
        self.message = ""
        self._recorder: warnings.catch_warnings | None = None
        self._seen: list[warnings.WarningMessage] | None = None

    def __enter__(self) -> "expect":
        if issubclass(self.kind, Warning):
            self._recorder = warnings.catch_warnings(record=True)
            self._seen = self._recorder.__enter__()  # the list that warnings will be put on
            warnings.simplefilter("always")  # a warning shown once already must be seen again
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if self._recorder is not None:
            self._recorder.__exit__(None, None, None)
            if error is not None:
                return False  # an error instead of the announced warning is a plain failure of the cell
            return self._judge([warning.message for warning in self._seen or ()])
        if isinstance(error, KeyboardInterrupt | SystemExit) and not isinstance(error, self.kind):
            return False
        return self._judge([] if error is None else [error])

    def _judge(self, happened: list) -> bool:
        announced = f'{self.kind.__name__} with "{self.text}" in it'
        if not happened:
            raise AssertionError(f"expected {announced}, but nothing was raised")
        for event in happened:
            if isinstance(event, self.kind) and self.text in str(event):
                self.message = str(event)
                say(f"{type(event).__name__}: {event}")
                return True
        came = happened[0]
        cause = came if not isinstance(came, Warning) else None
        raise AssertionError(f"expected {announced}, but got {type(came).__name__}: {came}") from cause
