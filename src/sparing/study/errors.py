"""What a study refuses, and why."""


class StudyError(RuntimeError):
    """A call that a study refuses; nothing has changed."""


class Taken(StudyError):
    """Somebody else is working on this example, or has settled it."""


class Conflict(StudyError):
    """The call contradicts what the study knows: another value, another state, another event."""


class StoreError(StudyError):
    """The database cannot do what is needed: it is full, read-only, damaged, of another format or out of reach."""
