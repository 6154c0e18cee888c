"""Fill the universe from a package's declarations and the theory's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise, product
from math import prod

from icore_dsl import syntax as s
from icore_dsl.mistakes import G003, G006, G008
from icore_kernel.ground.evaluate import Evaluator
from icore_kernel.ground.limits import MOST_MEMBERS, MOST_OBLIGATIONS, Deadline, TooLarge, numbers
from icore_kernel.ground.universe import Function, Instance, Universe, Work, instance_name, parameters
from icore_kernel.ground.values import Algebra, Element, GroundingError, SetValue, Value, show_value

Modules = tuple[s.Module, ...]


def declarations(package: s.Module, libraries: Mapping[str, s.Module]) -> tuple[s.Decl, ...]:
    """The package's declarations after those it imports, imports first, each library once."""
    found: list[s.Decl] = []
    seen: set[str] = set()

    def visit(module: s.Module) -> None:
        for decl in module.decls:
            if isinstance(decl, s.ImportDecl):
                if decl.path not in seen:
                    seen.add(decl.path)
                    visit(libraries[decl.path])
            else:
                found.append(decl)

    visit(package)
    return tuple(found)


def build(
    package: s.Module,
    decls: tuple[s.Decl, ...],
    theory: Modules,
    settings: Mapping[str, str],
    algebra: Algebra,
    deadline: Deadline | None = None,
) -> tuple[Universe, Evaluator]:
    """The universe, filled, and an evaluator in it. Raises GroundingError for a parameter outside its range."""
    universe = Universe()
    evaluator = Evaluator(universe, algebra, deadline or Deadline(None))
    universe.constants.update(parameters(package.params, settings))
    for param in package.params:
        if param.name not in universe.constants and param.default is not None:
            universe.constants[param.name] = evaluator.static(param.default, universe.constants)
    universe.names.update(universe.constants)
    for param in package.params:
        values = domain_of(param.sort, evaluator, universe, universe.constants)
        if universe.constants.get(param.name) not in values:
            shown = show_value(universe.constants.get(param.name))
            raise GroundingError(G006, f"{param.name} = {shown} is outside {show_value(values[0])}..{show_value(values[-1])}")
    for table in (universe.statuses, universe.markers):
        universe.names.update(table)
        universe.theory_names.update(table)
    _theory(universe, theory)
    builder = _Builder(universe, evaluator)
    for phase in (
        builder.enums, builder.agents, builder.types, builder.obligations, builder.slots, builder.relations, builder.functions,
        builder.certificates, builder.obligation_values, builder.facts, builder.rest,
    ):  # fmt: skip
        for decl in decls:
            phase(decl)
    return universe, evaluator


def _theory(universe: Universe, theory: Modules) -> None:
    for module in theory:
        for decl in module.decls:
            match decl:
                case s.PrimitiveDecl():
                    universe.primitives[decl.name] = decl.exported
                case s.FunctionDecl():
                    universe.theory_functions[decl.name] = Function(decl, True)
                case s.OperationsDecl():
                    universe.operations += tuple(n.id for n in decl.names)
                case _:
                    continue


class _Builder:
    """One phase a kind of declaration, because later ones may name earlier ones in any order of the text."""

    def __init__(self, universe: Universe, evaluator: Evaluator) -> None:
        self.u = universe
        self.ev = evaluator

    def enums(self, decl: s.Decl) -> None:
        if isinstance(decl, s.EnumDecl):
            members = tuple(Element(decl.name, m.id, i) for i, m in enumerate(decl.members))
            self.u.enums[decl.name] = members
            self.u.names.update({m.name: m for m in members})
        elif isinstance(decl, s.OperationsDecl):
            self.u.operations += tuple(n.id for n in decl.names)

    def agents(self, decl: s.Decl) -> None:
        if not isinstance(decl, s.AgentsDecl):
            return
        self.u.agents = tuple(Element("Agent", m.name, i) for i, m in enumerate(decl.members))
        self.u.names.update({a.name: a for a in self.u.agents})
        self.u.agent_fields = {f.name: f for f in decl.fields}
        for agent, member in zip(self.u.agents, decl.members, strict=True):
            given = {a.name: a.value for a in member.values}
            for f in decl.fields:
                self.u.agent_values[agent, f.name] = self._initial(f, given.get(f.name))

    def types(self, decl: s.Decl) -> None:
        if isinstance(decl, s.ObligationTypeDecl):
            self.u.types[decl.name] = decl
            self.u.signatures.update({f.name: f for f in decl.fields if f.kind == "signature"})

    def obligations(self, decl: s.Decl) -> None:
        if not isinstance(decl, s.ObligationsDecl):
            return
        for item in decl.items:
            keys = (None,) if item.index is None else self.domain(item.index.sort, {})
            size = len(self.u.works) + len(keys)
            if size > MOST_OBLIGATIONS:
                raise TooLarge(f"{size:,} obligations: this version grounds at most {MOST_OBLIGATIONS:,}", decl.span)
            for key in keys:
                name = item.name if item.index is None else f"{item.name}[{show_value(key)}]"
                element = Element("Obligation", name, len(self.u.works))
                starts = item.starts or "open"
                self.u.works[element] = Work(element, item.type, item, {}, item.required, item.latent, starts, None, key)
                if item.index is None:
                    self.u.names[item.name] = element
                else:
                    self.u.families.setdefault(item.name, {})[key] = element

    def obligation_values(self, decl: s.Decl) -> None:
        """After all elements have names, so that values may mention any of them."""
        if not isinstance(decl, s.ObligationsDecl):
            return
        items = {id(item) for item in decl.items}
        for work in self.u.works.values():
            if id(work.decl) not in items:
                continue
            given = {a.name: a.value for a in work.decl.values}
            env = self._index_env(work)
            for f in self.u.types[work.type].fields:
                if f.kind == "static":
                    work.statics[f.name] = self._initial(f, given.get(f.name), env)
            if "weight" not in work.statics:
                work.statics["weight"] = self.ev.static(given["weight"], env) if "weight" in given else Fraction(1)
            if work.decl.assigned is not None:
                work.assigned = self.ev.static(work.decl.assigned, env)

    def _index_env(self, work: Work) -> dict[str, Value]:
        index = work.decl.index
        return {} if index is None or not index.name else {index.name: work.key}

    def slots(self, decl: s.Decl) -> None:
        if isinstance(decl, s.SlotDecl):
            self.u.slots[decl.name] = decl
            sort = "Input" if decl.kind == "input" else "Artifact"
            table = self.u.inputs if decl.kind == "input" else self.u.artifacts
            for element, args in self._family(decl.name, decl.params, sort, len(table)):
                table[element] = Instance(element, decl.name, args)
                if not args:
                    self.u.names[decl.name] = element

    def certificates(self, decl: s.Decl) -> None:
        if isinstance(decl, s.CertificateDecl):
            self.u.certificate_decls[decl.name] = decl
            for element, args in self._family(decl.name, decl.params, "Certificate", len(self.u.certificates)):
                self.u.certificates[element] = Instance(element, decl.name, args)
                if not args:
                    self.u.names[decl.name] = element

    def _family(self, name: str, params: tuple[s.Param, ...], sort: str, start: int) -> Iterator[tuple[Element, dict[str, Value]]]:
        domains = [self.domain(p.sort, {}) for p in params]
        size = prod(map(len, domains))
        if size > MOST_MEMBERS:
            raise TooLarge(f"{name} would have {size:,} members: a family may have at most {MOST_MEMBERS:,}", params[0].span)
        for number, args in enumerate(product(*domains)):
            element = Element(sort, instance_name(name, args), start + number)
            self.u.instances[name, args] = element
            yield element, dict(zip((p.name for p in params), args, strict=True))

    def relations(self, decl: s.Decl) -> None:
        if isinstance(decl, s.RelationDecl):
            self.u.relations[decl.name] = decl
            self.u.facts.setdefault(decl.name, set())

    def facts(self, decl: s.Decl) -> None:
        if not isinstance(decl, s.FactsDecl):
            return
        pairs = self.u.facts[decl.relation]
        for chain in decl.chains:
            for env, condition in self.ev.bindings(chain.binders, chain.where, {}, False):
                if not condition.is_true:
                    raise GroundingError(G003, "a fact must not depend on the state", chain.span)
                ends = [self._ends(link, dict(env)) for link in chain.links]
                for left, right in pairwise(ends):
                    pairs.update(product(left, right))

    def _ends(self, link: s.Expr, env: dict[str, Value]) -> list[Element]:
        value = self.ev.static(link, env)
        values = [v for v, _ in value.items] if isinstance(value, SetValue) else [value]
        return [v for v in values if isinstance(v, Element)]

    def functions(self, decl: s.Decl) -> None:
        if isinstance(decl, s.FunctionDecl):
            self.u.functions[decl.name] = Function(decl, False)
            if decl.kind not in {"define", "least"}:
                self.u.valuations.setdefault(decl.kind, []).append(Function(decl, False))

    def rest(self, decl: s.Decl) -> None:
        if isinstance(decl, s.ClockDecl):
            low, high = self.ev.static(decl.low, {}), self.ev.static(decl.high, {})
            if isinstance(low, Fraction) and isinstance(high, Fraction):
                numbers(int(low), int(high), decl.span)
                self.u.clocks[decl.name] = (int(low), int(high))
        elif isinstance(decl, s.UpdateDecl):
            self.u.updates.append(decl)

    # ---- sorts -----------------------------------------------------------------------------------------------------
    def domain(self, sort: s.Sort, env: Mapping[str, Value]) -> tuple[Value, ...]:
        return domain_of(sort, self.ev, self.u, env)

    def _initial(self, f: s.FieldDecl, given: s.Expr | None, env: Mapping[str, Value] | None = None) -> Value:
        expr = given if given is not None else f.default
        if expr is None:
            if f.name == "weight":
                return Fraction(1)
            raise GroundingError(G006, f"{f.name} has no value", f.span)
        return self.ev.static(expr, env or {})


def domain_of(sort: s.Sort, evaluator: Evaluator, universe: Universe, env: Mapping[str, Value]) -> tuple[Value, ...]:
    """The values of a finite sort, in order."""
    match sort:
        case s.SortName():
            found = universe.elements(sort.name)
            if found is None:
                raise GroundingError(G008, f"{sort.name} is not a finite sort", sort.span)
            return found
        case s.SortRange():
            low, high = evaluator.static(sort.low, env), evaluator.static(sort.high, env)
            if not isinstance(low, Fraction) or not isinstance(high, Fraction):
                raise GroundingError(G003, "not a range of integers", sort.span)
            return tuple(Fraction(n) for n in numbers(int(low), int(high), sort.span))
        case s.SortValues():
            return tuple(dict.fromkeys(evaluator.static(v, env) for v in sort.values))
        case s.SortOptional():
            return (None, *domain_of(sort.item, evaluator, universe, env))
        case s.SortSet():
            raise GroundingError(G008, "a set is no element", sort.span)
