"""A worker process of the engine: `python -m picklock.worker MODULE CLASS FILE` serves the lock of that class."""

import importlib
import importlib.util
import os
import sys

from . import _adapter
from ._lock import adapted


def load(module, name, file):
    """Imports a class by its module. A module that the search path does not lead to is loaded from its file."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name != module.split(".")[0] and problem.name != module:
            raise
        found = None
    if found is None or not _is_same_file(getattr(found, "__file__", None), file):
        spec = importlib.util.spec_from_file_location(module, file)
        found = importlib.util.module_from_spec(spec)
        sys.modules[module] = found
        spec.loader.exec_module(found)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _is_same_file(one, other):
    return one is not None and os.path.realpath(one) == os.path.realpath(other)


def main():
    module, name, file = sys.argv[1:]
    # Taken before the module is imported, because it may print.
    _adapter._output = _adapter._take_stdout()
    lock_class = load(module, name, file)
    _adapter.serve(adapted(lock_class), name=lock_class.__name__, options=getattr(lock_class, "options", ()),
                   threads=bool(getattr(lock_class, "threads", False)))


if __name__ == "__main__":
    main()
