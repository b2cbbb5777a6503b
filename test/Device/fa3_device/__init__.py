# SPDX-License-Identifier: Apache-2.0
"""Tests and measurements of fa3 kernels on a Hopper GPU; see README.md."""
