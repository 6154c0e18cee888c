"""A strict reader of PROV-JSON: every section, every key, every name and every reference, or it says what is wrong."""

from __future__ import annotations

import re
from typing import Any

THINGS = {"entity", "activity", "agent"}
RELATIONS = {
    "used": (("prov:activity", "activity"), ("prov:entity", "entity")),
    "wasGeneratedBy": (("prov:entity", "entity"), ("prov:activity", "activity")),
    "wasAssociatedWith": (("prov:activity", "activity"), ("prov:agent", "agent")),
    "wasDerivedFrom": (("prov:generatedEntity", "entity"), ("prov:usedEntity", "entity")),
    "wasInformedBy": (("prov:informed", "activity"), ("prov:informant", "activity")),
}
QNAME = re.compile(r"([A-Za-z][\w-]*):([A-Za-z0-9_.-]|%[0-9A-F]{2})+")
URI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s]+")


def faults(document: Any) -> list[str]:
    found: list[str] = []
    if not isinstance(document, dict) or set(document) - THINGS - set(RELATIONS) - {"prefix"}:
        return [f"sections: {set(document) - THINGS - set(RELATIONS)}"]
    prefixes = document.get("prefix", {})
    found += [f"prefix {name}" for name, uri in prefixes.items() if name in {"prov", "xsd"} or not URI.fullmatch(uri)]

    def name(text: Any) -> bool:
        match = QNAME.fullmatch(text) if isinstance(text, str) else None
        return match is not None and (match[1] in prefixes or match[1] in {"prov", "xsd"})

    def attribute(key: str, value: Any) -> bool:
        if key.startswith("prov:") and key not in {"prov:type", "prov:label", "prov:role", "prov:value", "prov:location"}:
            return False
        if isinstance(value, dict):
            return set(value) == {"$", "type"} and (value["type"] != "prov:QUALIFIED_NAME" or name(value["$"]))
        return name(key) and isinstance(value, (str, int, bool))

    for sort in THINGS & set(document):
        for id, said in document[sort].items():
            if not name(id):
                found.append(f"{sort} {id}")
            found += [f"{id}: {key}" for key, value in said.items() if not attribute(key, value)]
    for relation in set(RELATIONS) & set(document):
        ends = RELATIONS[relation]
        for id, said in document[relation].items():
            if not re.fullmatch(r"_:\w+", id):
                found.append(f"{relation} {id}")
            for key, sort in ends:
                if said.get(key) not in document.get(sort, {}):
                    found.append(f"{relation} {id}: {key} = {said.get(key)} is no {sort}")
            found += [f"{relation} {id}: {key}" for key, value in said.items() if key not in dict(ends) and not attribute(key, value)]
    return found
