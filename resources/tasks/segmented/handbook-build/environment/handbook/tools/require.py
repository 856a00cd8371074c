"""require.py VERSION: succeed if this Python is at least VERSION."""

import platform
import sys

wanted = sys.argv[1]
found = platform.python_version()
if not found >= wanted:
    sys.exit(f"Python {wanted} or later is needed, this is {found}")
