"""W3C PROV-JSON: what was made, by which activity, of what, by whom (https://www.w3.org/submissions/prov-json/)."""

from __future__ import annotations

from urllib.parse import quote

NAMESPACE = "urn:icore:"
Attributes = dict[str, object]


def identifier(*parts: object) -> str:
    """A qualified name that says what it is about; what may not stand in one is percent-encoded."""
    return "icore:" + ".".join(quote(str(part), safe="").replace("~", "%7E") for part in parts)


class Document:
    """Collects records; `json()` is the document. Relations are said once, however often they are found."""

    def __init__(self) -> None:
        self._things: dict[str, dict[str, Attributes]] = {"entity": {}, "activity": {}, "agent": {}}
        self._relations: dict[str, dict[tuple[str, str, str], Attributes]] = {}

    def entity(self, id: str, kind: str, label: str, **said: object) -> str:
        return self._thing("entity", id, kind, label, said)

    def activity(self, id: str, kind: str, label: str, **said: object) -> str:
        return self._thing("activity", id, kind, label, said)

    def agent(self, name: str) -> str:
        return self._thing("agent", identifier("agent", name), "Agent", name, {})

    def _thing(self, sort: str, id: str, kind: str, label: str, said: dict[str, object]) -> str:
        own = {f"icore:{name}": value for name, value in said.items() if value not in (None, "")}
        self._things[sort][id] = {"prov:type": {"$": f"icore:{kind}", "type": "prov:QUALIFIED_NAME"}, "prov:label": label, **own}
        return id

    def used(self, activity: str, entity: str, role: str = "") -> None:
        self._relate("used", ("prov:activity", activity), ("prov:entity", entity), role)

    def generated(self, entity: str, activity: str) -> None:
        self._relate("wasGeneratedBy", ("prov:entity", entity), ("prov:activity", activity))

    def associated(self, activity: str, agent: str, role: str = "") -> None:
        self._relate("wasAssociatedWith", ("prov:activity", activity), ("prov:agent", agent), role)

    def derived(self, made: str, source: str) -> None:
        self._relate("wasDerivedFrom", ("prov:generatedEntity", made), ("prov:usedEntity", source))

    def informed(self, later: str, earlier: str) -> None:
        self._relate("wasInformedBy", ("prov:informed", later), ("prov:informant", earlier))

    def _relate(self, relation: str, one: tuple[str, str], other: tuple[str, str], role: str = "") -> None:
        said: Attributes = dict((one, other))
        if role:
            said["prov:role"] = role
        self._relations.setdefault(relation, {})[one[1], other[1], role] = said

    def json(self) -> dict[str, object]:
        """Sections without records are left out."""
        document: dict[str, object] = {"prefix": {"icore": NAMESPACE}}
        document.update((sort, dict(things)) for sort, things in self._things.items() if things)
        for relation, records in self._relations.items():
            document[relation] = {f"_:{relation}{number}": said for number, said in enumerate(records.values(), start=1)}
        return document
