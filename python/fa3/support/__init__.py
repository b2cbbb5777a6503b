# SPDX-License-Identifier: Apache-2.0
"""What everything else stands on: tensors and numbers of callers, settings, forks, the
launcher's library, and who looks on."""
