"""Puts names that mean something where schemathesis made some up.

A schema says that `rule` is a text, and not which rules there are; random texts would be answered
with "no such rule" for ever. So every text that stands for a rule, a key or a handle is exchanged for
one that the service knows: wrong values stay wrong, for only right types are exchanged.
"""

import itertools
import json

import schemathesis

# The rules of the test's policy, and how many parts their keys have.
PARTS = {"api": 1, "login": 2, "export": 1, "jobs": 1}

handles = []
receipts = []

rules = itertools.cycle(PARTS)
keys = itertools.cycle(["alice", "bob", "carol"])
paths = itertools.cycle(["/", "/login", "/reports/7/export"])


def is_key(value):
    return isinstance(value, str) or (
        isinstance(value, list)
        and value != []
        and all(isinstance(part, str) for part in value)
    )


def key_of(rule):
    parts = [next(keys)] * PARTS[rule]
    return parts if len(parts) > 1 else parts[0]


def with_names(value):
    """A body, or a part of one, with names that are known."""
    if isinstance(value, list):
        return [with_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {name: with_names(each) for name, each in value.items()}
    if isinstance(named.get("rule"), str):
        named["rule"] = next(rules)
        if is_key(named.get("key")):
            named["key"] = key_of(named["rule"])
    if isinstance(named.get("path"), str):
        named["path"] = next(paths)
    for member, known in (("handle", handles), ("receipt", receipts)):
        if isinstance(named.get(member), str) and known:
            named[member] = known[-1]
    return named


@schemathesis.hook
def before_call(context, case, kwargs):
    case.body = with_names(case.body)
    path = case.path_parameters or {}
    if path.get("rule"):
        path["rule"] = next(rules)
        if path.get("key"):
            key = key_of(path["rule"])
            path["key"] = key if isinstance(key, str) else json.dumps(key)
    if case.operation.path == "/v1/auth":
        case.headers.setdefault("X-Forwarded-Method", case.method)
        case.headers.setdefault("X-Forwarded-Uri", next(paths))


@schemathesis.hook
def after_call(context, case, response):
    try:
        told = response.json()
    except Exception:
        return
    for each in told if isinstance(told, list) else [told]:
        if not isinstance(each, dict):
            continue
        if isinstance(each.get("handle"), str):
            handles.append(each["handle"])
        for decision in each.get("decisions") or []:
            if isinstance(decision, dict) and isinstance(decision.get("receipt"), str):
                receipts.append(decision["receipt"])
    del handles[:-1], receipts[:-1]
