# SPDX-License-Identifier: Apache-2.0
"""fa3 in inference engines: backends of vLLM (`vllm`) and SGLang (`sglang`), which import
these when they are imported, and what both need (`calls`). `plugins` has the entry points
by which engines find them (docs/Engines.md)."""
