# SPDX-License-Identifier: Apache-2.0
"""Parts of python_door.py."""
