"""kopf, imported without the Kubernetes client that it would import where that is installed.

It looks for client libraries to log in by and to know their models, neither of which is
wanted here; kubernetes_asyncio costs 38 MiB, half of what the rest of this process takes.
"""

import sys
from typing import Final

_UNWANTED: Final = "kubernetes_asyncio"

_is_loaded = _UNWANTED in sys.modules
if not _is_loaded:
    sys.modules[_UNWANTED] = None  # type: ignore[assignment] # an import of it now fails
try:
    import kopf
finally:
    if not _is_loaded:
        del sys.modules[_UNWANTED]

__all__ = ["kopf"]
