"""Studies: buying over weeks, at several sites, with nothing lost."""

from sparing.study.databases import merge, upgrade
from sparing.study.errors import Conflict, StoreError, StudyError, Taken
from sparing.study.study import Study
from sparing.study.views import Ask, Example

__all__ = ["Ask", "Conflict", "Example", "StoreError", "Study", "StudyError", "Taken", "merge", "upgrade"]
