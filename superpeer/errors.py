"""The errors that a user can cause and can act on.

    SuperpeerError
     ├── JavaMissing      (superpeer.catalog.java)
     └── UnreadableFile   (superpeer.rdf.source)

`qel`, `hypercup` and `auth` stand alone, so their errors have roots of their own: `QelError`, `HypercupError` and
`AuthError`.
"""

import sys

ROOTS = (
    ("superpeer.errors", "SuperpeerError"),
    ("qel.errors", "QelError"),
    ("hypercup.errors", "HypercupError"),
    ("auth.errors", "AuthError"),
)


class SuperpeerError(Exception):
    """Its text is one sentence that says what is wrong and what to do about it."""


def is_user_error(error: Exception) -> bool:
    """Whether the text of an error is the answer to give to the user, rather than a bug to report.

    An error of a package that has not been imported cannot have been raised, so none is imported to find out.
    """
    loaded = ((sys.modules.get(module), name) for module, name in ROOTS)
    return any(isinstance(error, getattr(module, name)) for module, name in loaded if module is not None)
