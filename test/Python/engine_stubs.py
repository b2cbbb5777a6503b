# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the modules of engines, made of test/Engines/interfaces.json: classes with
the methods, abstract ones, fields and words that the real ones have."""

import abc
import contextlib
import dataclasses
import enum
import inspect
import json
import pathlib
import sys
import types
from unittest import mock

DATA = json.loads(
    (pathlib.Path(__file__).parents[1] / "Engines" / "interfaces.json").read_text()
)


def make_class(name, given):
    """A class of data; methods do nothing."""

    members = {}
    for method in given["methods"]:
        if method in ("__init__", "__new__"):
            continue
        members[method] = lambda *args, **named: None
        if method in given["abstract"]:
            abc.abstractmethod(members[method])
    return abc.ABCMeta(name, (), members)


def make_words(name, words):
    return enum.Enum(name, {word: word.lower() for word in words}, type=str)


def make_fields(name, fields):
    return dataclasses.make_dataclass(
        name, [(one, object, dataclasses.field(default=None)) for one in fields]
    )


def module(name, **members):
    made = types.ModuleType(name)
    made.__path__ = []
    vars(made).update(members)
    return made


def parents(modules):
    """The packages around modules, too."""
    for name in list(modules):
        while "." in name:
            name = name.rpartition(".")[0]
            modules.setdefault(name, module(name))
    return modules


def vllm_modules():
    classes = DATA["vllm"]["files"]["vllm/v1/attention/backend.py"]
    made = {
        name: make_class(name, classes[name])
        for name in ("AttentionBackend", "AttentionMetadataBuilder", "AttentionImpl")
    }

    def keep(self, kv_cache_spec, layer_names, vllm_config, device):
        self.device = device

    made["AttentionMetadataBuilder"].__init__ = keep
    made["AttentionCGSupport"] = enum.Enum(
        "AttentionCGSupport", classes["AttentionCGSupport"]["fields"]
    )
    made["AttentionType"] = make_words("AttentionType", classes["AttentionType"]["fields"])
    for name in ("CommonAttentionMetadata", "MultipleOf"):
        made[name] = make_fields(name, classes[name]["fields"])
    registry = module(
        "registry", AttentionBackendEnum=enum.Enum("AttentionBackendEnum", ["CUSTOM"]),
        _ATTN_OVERRIDES={},
    )  # fmt: skip
    registry.register_backend = lambda one, path: registry._ATTN_OVERRIDES.update({one: path})
    return parents({
        "vllm.envs": module("vllm.envs", VLLM_BATCH_INVARIANT=False),
        "vllm.v1.attention.backend": module("backend", **made),
        "vllm.v1.attention.backends.registry": registry,
    })  # fmt: skip


def sglang_modules():
    files = DATA["sglang"]["files"]
    folder = "sglang/srt/layers/attention/"
    base = files[folder + "base_attn_backend.py"]["AttentionBackend"]
    words = files["sglang/srt/layers/radix_attention.py"]["AttentionType"]["fields"]
    location = make_fields(
        "KVWriteLoc", files["sglang/srt/mem_cache/memory_pool.py"]["KVWriteLoc"]["fields"]
    )
    location.for_layer = classmethod(lambda cls, batch, layer: cls(loc=batch.out_cache_loc))
    registry = module("attention_registry", ATTENTION_BACKENDS={})
    registry.register_attention_backend = lambda name: (
        lambda function: registry.ATTENTION_BACKENDS.setdefault(name, function)
    )
    choices, hooks = [], []
    hook_types = files["sglang/srt/plugins/hook_registry.py"]["HookType"]["fields"]
    registered = types.SimpleNamespace(
        register=lambda target, hook, hook_type: hooks.append((target, hook, hook_type.name))
    )
    name = "sglang.srt.layers.attention"
    return parents({
        f"{name}.base_attn_backend": module(
            "base", AttentionBackend=make_class("AttentionBackend", base)
        ),
        f"{name}.attention_registry": registry,
        "sglang.srt.layers.radix_attention": module(
            "radix_attention", AttentionType=make_words("AttentionType", words)
        ),
        "sglang.srt.mem_cache.memory_pool": module("memory_pool", KVWriteLoc=location),
        "sglang.srt.plugins.hook_registry": module(
            "hook_registry", hooks=hooks, HookRegistry=registered,
            HookType=enum.Enum("HookType", hook_types),
        ),
        "sglang.srt.server_args": module(
            "server_args", choices=choices, add_attention_backend_choices=choices.extend,
            add_deterministic_attention_backend_choices=choices.extend,
        ),
    })  # fmt: skip


@contextlib.contextmanager
def installed(modules, ours):
    """Stand-ins in sys.modules, and a backend that is imported beside them."""
    for name in list(modules):
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, modules[name])
    with mock.patch.dict(sys.modules, modules):
        sys.modules.pop(ours, None)
        yield
        sys.modules.pop(ours, None)


def differences(cls, known, where):
    """Sentences on methods of a class that do not take what the engine's base class says."""
    for name, wanted in known["methods"].items():
        ours = vars(cls).get(name)
        if ours is None:
            continue
        function = getattr(ours, "__func__", ours)
        given = list(inspect.signature(function).parameters)
        if name == "__init__" and wanted == given[:1]:
            continue
        if given[: len(wanted)] != [one for one in wanted if one not in ("*", "**")]:
            yield f"{where}.{name}{tuple(given)}, expected {tuple(wanted)} first"
