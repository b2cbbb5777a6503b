# SPDX-License-Identifier: Apache-2.0
"""Memory that kernels of a program use among themselves, and the stream that a
launch belongs to: those of torch if an argument is a torch tensor."""

import sys

from .arguments import _checked_address, _checked_integer
from .device import Buffer, _OwnBuffer


def _torch_tensor(values):
    """The first torch tensor among the arguments, or None."""
    torch = sys.modules.get("torch")
    for value in values:
        if torch is not None and isinstance(value, torch.Tensor):
            return value
    return None


def _current_stream(values):
    """Torch's current stream if there is a torch tensor, else the default."""
    tensor = _torch_tensor(values)
    if tensor is None:
        return 0
    return sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream


def _allocate(size, values, stream):
    """Memory for a workspace, of the framework that the arguments come from."""
    tensor = _torch_tensor(values)
    if tensor is None:
        return _OwnBuffer(size)
    torch = sys.modules["torch"]
    memory = torch.empty(size, dtype=torch.uint8, device=tensor.device)
    # Once freed, torch may give it to others on its current stream.
    if stream != _current_stream(values):
        memory.record_stream(torch.cuda.ExternalStream(stream, tensor.device))
    return memory


def _get_memory(workspace):
    """Address and size of a workspace."""
    if workspace is None:
        return None, 0
    if hasattr(workspace, "data_ptr"):
        if not workspace.is_cuda:
            raise TypeError("workspace: tensor is not on a GPU")
        if not workspace.is_contiguous():
            raise TypeError("workspace: tensor is not contiguous")
        address = workspace.data_ptr()
        size = workspace.numel() * workspace.element_size()
    elif isinstance(workspace, Buffer):
        address, size = workspace.address, workspace.size
        if size and not address:
            raise ValueError("workspace: the buffer is freed")
    else:
        address, size = workspace
    return (
        _checked_address("workspace", address),
        _checked_integer("workspace, size", size),
    )
