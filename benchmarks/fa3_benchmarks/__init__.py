"""Measurements of fa3's attention beside other kernels; see ../README.md."""
