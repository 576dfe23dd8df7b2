"""One case: what it called, what it found."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Something a user should never see.

    Attributes
    ----------
    signature : str
        The same for failures that look alike.
    detail : str
        This one, with its numbers.
    """

    signature: str
    detail: str


class Refused(Exception):  # noqa: N818
    """A call ended in an exception, which the trial has judged already."""


@dataclass
class Trial:
    """The calls of one case and what was wrong with them.

    Attributes
    ----------
    what : str
        What the case tried, for the counts.
    prefix : str
        What the signatures of its findings begin with.
    context : str
        What the case is about, for the details of failed calls.
    outcome : str
        "judged" unless the package refused or the oracle had no digits.
    calls : int
        Number of calls of the package.
    findings : list of Finding
        Empty if all is well.
    """

    what: str = ""
    prefix: str = ""
    context: str = ""
    outcome: str = "judged"
    calls: int = 0
    findings: list[Finding] = field(default_factory=list)

    def report(self, signature: str, detail: object = "") -> None:
        """Add a finding."""
        self.findings.append(Finding(f"{self.prefix}{signature}", " ".join(str(detail).split())[:600]))

    def check(self, holds: object, signature: str, detail: object = "") -> None:
        """Add a finding unless something holds."""
        if not holds:
            self.report(signature, detail)

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        allowed: Callable[[Exception], bool] = lambda error: False,
        said: str | None = None,
        **options: Any,
    ) -> Any:
        """Call a function of the package.

        Parameters
        ----------
        function, *arguments, **options
            What to call.
        allowed : callable
            Tells whether an exception is one of the promised ones.
        said : str, optional
            How a warning that is promised begins, as a regular expression.

        Returns
        -------
        result : object
            What the function returned.

        Raises
        ------
        Refused
            If it raised. The exception is a finding unless it is allowed.
        """
        self.calls += 1
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                result = function(*arguments, **options)
            except Exception as error:
                if not allowed(error):
                    self.report(raised(error), f"{self.context}: {error}")
                self.outcome = "refused"
                raise Refused from error
        for warning in heard:
            text = str(warning.message)
            if said is None or not re.match(said, text):
                self.report(f"warns {warning.category.__name__}", f"{self.context}: {text}")
        return result


def raised(error: BaseException) -> str:
    """Name an exception and the innermost function it passed through."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = trace.tb_frame.f_code.co_qualname if trace is not None else "?"
    return f"{type(error).__name__} in {where}"
