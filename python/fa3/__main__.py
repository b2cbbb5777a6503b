# SPDX-License-Identifier: Apache-2.0
"""python -m fa3."""

import sys

from .cli import main

sys.exit(main())
