# SPDX-License-Identifier: Apache-2.0
"""Attention in the languages of other projects. Each module has a generator for
a project: of name, printed text, function, inputs, where the function computes
the answer from the inputs."""
