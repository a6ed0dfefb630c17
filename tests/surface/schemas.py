"""The published schemas in docs/schema, to validate what verbs wrote."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[2] / "docs" / "schema"


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name.replace(' of ', '-')}.json").read_text("utf-8")))


def validate(name: str, value: Any) -> None:
    """`name`: a verb, or "diff of files". Raises ValidationError."""
    validator(name).validate(value)


def schema_keys(name: str) -> set[str]:
    """The keys that a schema documents, in the form of `described.keys`."""
    schema = validator(name).schema
    return _keys(schema, schema.get("$defs", {}), "")


def _keys(schema: Any, shared: dict[str, Any], path: str) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    if "$ref" in schema:
        return _keys(shared[schema["$ref"].removeprefix("#/$defs/")], shared, path)
    found = set()
    for key, inner in schema.get("properties", {}).items():
        found |= {f"{path}.{key}"} | _keys(inner, shared, f"{path}.{key}")
    for inner in (*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")):
        if inner:
            found |= {f"{path}.*"} | _keys(inner, shared, f"{path}.*")
    for inner in (*schema.get("prefixItems", ()), schema.get("items")):
        found |= _keys(inner, shared, f"{path}[]")
    return found.union(*(_keys(inner, shared, path) for inner in schema.get("anyOf", ())))
