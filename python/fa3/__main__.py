"""python -m fa3."""

import sys

from .cli import main

sys.exit(main())
