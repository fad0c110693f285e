"""The errors of studies."""


class StudyError(RuntimeError):
    """A call that a study refuses; nothing has changed."""


class Taken(StudyError):
    """Somebody else is working on this example, or has settled it."""


class Conflict(StudyError):
    """The call contradicts the state of the study: another value, another status or another event."""


class StoreError(StudyError):
    """The database cannot be used: it is full, read-only, damaged, unreachable or of another format."""
