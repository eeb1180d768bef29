"""Never answers: `hang.py OP`. It goes on reading, so that it is not stuck in a full pipe."""

import polite

polite.run(lambda request: None)
