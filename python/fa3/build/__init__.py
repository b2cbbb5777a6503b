# SPDX-License-Identifier: Apache-2.0
"""From text to code: the compiler, the driver, the cache on disk."""
