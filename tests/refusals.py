"""How tests say that a call must fail, and with which words."""

from __future__ import annotations

import re

import pytest


def cases(table):
    """Parametrise by the rows of a table: name → (argument, exception, parts of its message)."""
    return pytest.mark.parametrize(
        ("value", "exception", "parts"), [pytest.param(*case, id=name) for name, case in table.items()]
    )


def refuses(exception, parts, function, *arguments, **options):
    """The call fails with a message that holds all the parts, in order, and ends as a sentence."""
    with pytest.raises(exception, match=".*".join(re.escape(part) for part in parts)) as caught:
        function(*arguments, **options)
    assert type(caught.value) is exception
    assert str(caught.value).endswith(".")
