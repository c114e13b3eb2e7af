"""Other ways to write settings: [expert], inherited keys, and old keys. Pure.

All of them are rewritten in the tree of tables before validation: the schema knows one spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.config.publishing import PROGRAMS
from pipeline.core.errors import ConfigError

EXPERT = "expert"
"""The table for rarely changed keys: `stt.commit_s` in it is commit_s of [stt]."""

INHERITED = ("server", "model", "prompt", "gpu_layers", "threads", "context", "batch")
"""Keys that [translate.compare] inherits from [translate.final] if it does not set them."""

_GONE = {
    "stt": ("word_probabilities", "no_speech_prob", "avg_logprob", "compression_ratio"),
    "dictionary": ("watch_s",),
    "translate.partial": ("compute_type", "context"),
    "translate.final": ("flash_attention",),
    "translate.compare": ("compute_type", "flash_attention"),
    "speech": ("threads", "deadline_s"),
    "engines": ("growth_mb",),
    "learn": ("bible", "glossary"),
}
"""Keys of earlier versions whose default suits everybody. They are ignored."""
_WHERE = ("url", "key_file", "ca_file")
_ON_SERVERS = ("stt", "translate.partial", "translate.final", "translate.compare")
_ENGINES = {"partial": "marian", "final": "gemma"}
_OLD_OUTPUTS: Mapping[str, tuple[str, str]] = {
    **{program: (program, "url") for program in (*PROGRAMS, "hls")},
    **{f"{program}_lang": (program, "lang") for program in PROGRAMS},
    "vmix_title": ("vmix", "place"),
    "propresenter_message": ("propresenter", "place"),
    "freeshow_variable": ("freeshow", "place"),
}
"""The program and key for each old key of [outputs]; `hls` was true or false."""
_LATER = ("environment", "command line")
_ON, _OFF = ("true", "1", "on", "yes"), ("", "false", "0", "off", "no")


@dataclass(slots=True)
class Renewed:
    """What was found in an old spelling: advice for people, and the old path of each new path."""

    advice: list[str] = field(default_factory=list)
    old_paths: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    outputs: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Origin and old path by program and key."""


def nest(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree of tables for values by key path. Raises ConfigError."""
    tree: dict[str, Any] = {}
    for path, value in flags.items():
        *tables, key = path.split(".")
        node: Any = tree
        for table in tables:
            node = node.setdefault(table, {})
            if not isinstance(node, dict):
                message = f"command line: {path} is in {table}, which is set to a value as well."
                raise ConfigError("config-bad-value", message, "Leave one of the two out.")
        node[key] = value
    return tree


def merge(base: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Merge a layer's tables into `base`, by copies: the layer's own dicts stay separate."""
    for key, value in layer.items():
        # A later layer may set one key of a table and leave the others.
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = _copy(value)  # an error is explained from the unchanged layers


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def without_expert(tree: dict[str, Any]) -> dict[str, Any]:
    """Return a file's tree with the keys of [expert] moved to their own tables, which win."""
    if not isinstance(tree.get(EXPERT), dict):
        return tree
    merged: dict[str, Any] = {}
    merge(merged, tree[EXPERT])
    merge(merged, {key: value for key, value in tree.items() if key != EXPERT})
    return merged


def drop_gone(layer: dict[str, Any], origin: str, renewed: Renewed) -> None:
    """Remove from a layer the keys that are no longer settings."""
    tables = [(path, _table(layer, path), keys) for path, keys in _GONE.items()]
    targets = _table(layer, "translate").get("targets")
    for number, target in enumerate(targets if isinstance(targets, list) else []):
        for part in _ENGINES if isinstance(target, dict) else ():
            path = f"translate.targets.{number}.{part}"
            tables.append((path, _table(target, part), _GONE[f"translate.{part}"]))
    for path, table, keys in tables:
        for key in keys:
            if key in table:
                del table[key]
                renewed.advice.append(f"{origin}: {path}.{key}: is no setting any more, delete it.")


def renew_outputs(so_far: Any, given: Any, origin: str, renewed: Renewed) -> Any:
    """Return the list of outputs after merging a layer's outputs.

    A list replaces the earlier one. The old table form changes the programs that it names.
    """
    if not isinstance(given, Mapping):
        return _copy(given)
    entries = [e for e in so_far if isinstance(e, dict)] if isinstance(so_far, list) else []
    for name, value in given.items():
        program, key = _OLD_OUTPUTS.get(name, ("", name))
        if not any(program and each.get("program") == program for each in entries):
            # An unknown key is kept: the schema refuses it by its own name.
            entries.append({"program": program, "url": ""} if program else {})
        same = [each for each in entries if each.get("program", "") == program]
        same[-1][key] = value
        renewed.outputs[program, key] = (origin, f"outputs.{name}")
    return entries


def used_outputs(entries: Any, renewed: Renewed) -> Any:
    """Return the outputs that are in use: an empty address means unused."""
    if not isinstance(entries, list):
        return entries
    kept: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            program = entry.get("program", "")
            if ("hls", "url") in renewed.outputs and program == "hls":
                if (switch := str(entry.get("url", True)).casefold()) in _OFF:
                    continue
                if switch in _ON:
                    entry.pop("url", None)
            elif entry.get("url") == "" and not entry.get("lang"):
                continue
            old = {k: o for (p, k), o in renewed.outputs.items() if p == program and k != "program"}
            renewed.old_paths |= {
                # By the index in the kept list: this is how pydantic names an entry.
                f"outputs.{len(kept)}.{key}": name
                for key, (_, name) in old.items()
            }
            if old and program:
                origin, keys = next(iter(old.values()))[0], ", ".join(n for _, n in old.values())
                now = ", ".join([f'program = "{program}"', *(key for key in old if key in entry)])
                renewed.advice.append(f"{origin}: {keys}: write [[outputs]] with {now}.")
        kept.append(entry)
    return kept


def renew_servers(tree: dict[str, Any], origins: Mapping[str, str], renewed: Renewed) -> None:
    """Move each address in an engine's own table into [servers], under a name."""
    for path in _ON_SERVERS:
        section, name = _table(tree, path), path.rpartition(".")[2]
        base = _server(tree, section.get("server"))
        ranks = [_rank(origins.get(f"{path}.{key}", "")) for key in ("server", "url")]
        if section.get("server") and "url" in section and ranks[0] >= ranks[1]:
            for key in _WHERE:  # a server named in a later layer wins over an earlier address
                section.pop(key, None)
        # A key file belongs to one server: an own address does not inherit another server's.
        _name_server(tree, section, name, {} if "url" in section else base)
        _advise(section, path, origins, renewed)
    targets = _table(tree, "translate").get("targets")
    for number, target in enumerate(targets if isinstance(targets, list) else []):
        for part in _ENGINES:
            if isinstance(target, dict) and part in target:
                section = _table(target, part)
                named = section.get("server", _table(tree, f"translate.{part}").get("server"))
                name = f"{part}-{target.get('lang')}"
                _name_server(tree, section, name, _server(tree, named))
                _advise(section, f"translate.targets.{number}.{part}", origins, renewed)


def _rank(origin: str) -> int:
    return _LATER.index(origin) if origin in _LATER else -1


def _name_server(
    tree: dict[str, Any], section: dict[str, Any], name: str, base: Mapping[str, Any]
) -> None:
    found = {key: section[key] for key in _WHERE if key in section}
    if not found or not {**base, **found}.get("url"):
        return
    servers = tree.setdefault("servers", {})
    # Any other type is an error, which the schema reports.
    if isinstance(servers, dict):
        # The user may already have a server with that name.
        while name in servers:
            name = f"{name}-own"
        servers[name], section["server"] = {**base, **found}, name


def _advise(
    section: dict[str, Any], path: str, origins: Mapping[str, str], renewed: Renewed
) -> None:
    """Remove the old keys from a section, with advice on the new spelling if one had a value."""
    found = {key: section.pop(key) for key in _WHERE if key in section}
    used = [key for key, value in found.items() if value]
    if not used:
        return
    renewed.old_paths |= {f"servers.{section.get('server')}.{key}": f"{path}.{key}" for key in used}
    above = (origin for at, origin in origins.items() if f"{path}.".startswith(f"{at}."))
    origin = origins.get(f"{path}.{used[0]}") or next(above, "")
    renewed.origins |= {f"{path}.server": origin, "servers": origin}
    keys = ", ".join(f"{path}.{key}" for key in used)
    now = f'write [servers.NAME] with {", ".join(used)}, and server = "NAME" in [{path}]'
    renewed.advice.append(f"{origin}: {keys}: {now}.")


def inherit(tree: dict[str, Any]) -> list[str]:
    """Give [translate.compare] the keys that it does not set; return their paths.

    Marian inherits from [translate.partial], any other engine from [translate.final]. It inherits
    model and server only if the engine is the same.
    """
    compare = _table(tree, "translate.compare")
    if (engine := compare.get("engine", "none")) == "none":
        return []
    part = "partial" if engine == "marian" else "final"
    first = _table(tree, f"translate.{part}")
    keys = [key for key in INHERITED if key in first and key not in compare]
    if first.get("engine", _ENGINES[part]) != engine:
        # These belong to one engine, and mean nothing to another.
        keys = [key for key in keys if key not in ("model", "server")]
    compare |= {key: first[key] for key in keys}
    return [f"translate.compare.{key}" for key in keys]


def _server(tree: dict[str, Any], name: object) -> Mapping[str, Any]:
    """Return the tree's table of a server, an empty one if there is none."""
    servers = _table(tree, "servers")
    # Not by `_table`: the user's name for a server may contain dots.
    server = servers.get(name) if isinstance(name, str) else None
    return server if isinstance(server, dict) else {}


def _table(tree: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a table of the tree, or an empty one outside the tree if there is none."""
    node: Any = tree
    for key in path.split("."):
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}
