# SPDX-License-Identifier: Apache-2.0
"""A call of attention: checks, plan, launch, gradients."""
