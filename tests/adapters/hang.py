"""Never answers: `hang.py OP`. It continues to read, so that the harness is not blocked by a full pipe."""

import polite

polite.run(lambda request: None)
