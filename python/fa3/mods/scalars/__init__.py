# SPDX-License-Identifier: Apache-2.0
"""Scalar code: what mods compute, as a graph; functions of torch on it; its text."""
