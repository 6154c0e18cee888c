"""Certificate schemas: issuer, premises, claims, validity, delay, and evidence that would rest on itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from icore_dsl.check_declarations import Declarations
from icore_dsl.constants import evaluate
from icore_dsl.found import Found, listed, near
from icore_dsl.mistakes import D007, D010, D014, D015, D028, R012, R016, S001, S002, S014, S016, S019, S020
from icore_dsl.resolve import Names, Scope
from icore_dsl.sorts import AGENT, BOOL, ERROR, STATUS, WORK, ItemSort, Kind, Maybe, SetSort, accepts, comparable, shown
from icore_dsl.syntax import Binary, Call, CertificateDecl, Claim, Expr, Module, Name, RelationDecl, Span, Target
from icore_dsl.walk import Key, conjuncts, key, names_in

CLAIMS = {
    "node": (1,), "status": (1,), "assignment": (1,), "signature": (1,), "coverage": (1, 2), "compatibility": (1,),
    "removal": (1,), "failure": (1,), "terminal": (1,),
}  # fmt: skip
TERMINALS = ("accept", "reject", "stuck", "budget")


class Certificates:
    """Checks of `certificate`."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.formulas = declarations.formulas
        self.names = declarations.names
        self.found = declarations.found

    def certificate(self, decl: CertificateDecl) -> None:
        scope = self.names.params(decl, decl.params)
        if decl.issuer is not None:
            self.someone(decl.issuer, scope, ("environment", "monitor", "any"), "the issuer")
        for who in decl.revocable_by:
            self.someone(who, scope, ("environment", "monitor", "any"), "who may revoke")
        if decl.scope is not None:
            self.formulas.condition(decl.scope, scope, "`scope`")
        for premise in decl.premises:
            self._target(premise, scope, ("Input", "Artifact", "Certificate"), "a premise")
        for target in decl.neutralizes:
            if target.captured:
                self.found.add(D014, self.found.word(target.span, "captured"), "`captured` freezes a premise at issue; here is none")
            self._target(target, scope, ("Certificate",), "what a certificate neutralizes")
        for claim in decl.claims:
            self._claim(claim, scope)
        for formula, what in ((decl.valid, "`valid when`"), (decl.current, "`current when`"), (decl.starts_when, "`starts active when`")):
            if formula is not None:
                self.formulas.condition(formula, scope, what)
        self.declarations.fields(decl.fields)
        self._delay(decl)

    def someone(self, expr: Expr, scope: Scope, roles: tuple[str, ...], what: str) -> None:
        """An agent, or one of the roles beside the agents."""
        if isinstance(expr, Name) and expr.id in roles and expr.id not in scope:
            return
        sort = self.formulas.infer(expr, scope)
        if not accepts(Maybe(AGENT), sort):
            hint = f"an agent, or {listed(roles)}"
            self.found.add(S014, expr.span, f"{what} is an agent, not {shown(sort)} (`{self.found.text(expr.span)}`)", hint)

    def _target(self, target: Target, scope: Scope, bases: tuple[str, ...], what: str) -> None:
        inner = self.formulas.bind(target.binders, target.where, scope)
        sort = self.formulas.infer(target.expr, inner)
        item = sort.item if isinstance(sort, SetSort) else sort
        if sort == ERROR or (isinstance(item, Kind) and item.base in bases) or (bases[0] == "Input" and accepts(BOOL, sort)):
            return
        allowed = "an input, an artifact, a certificate or a condition" if bases[0] == "Input" else "a certificate"
        self.found.add(S019, target.expr.span, f"{what} is {allowed}, `{self.found.text(target.expr.span)}` is {shown(sort)}")

    # ---- claims -------------------------------------------------------------------------------------------------

    def _claim(self, claim: Claim, scope: Scope) -> None:
        inner = self.formulas.bind(claim.binders, claim.where, scope)
        assertion = claim.assertion
        if not isinstance(assertion, Call):
            said = self.found.text(assertion.span)
            hint = near(said, CLAIMS, 0) or f"one of {listed(CLAIMS)}"
            self.found.add(R016, assertion.span, f"a certificate cannot claim `{said}`", hint)
            return
        name = assertion.name
        symbol = self.names.symbols.get(name)
        if name not in CLAIMS and symbol is not None and symbol.kind == "relation":
            self.formulas.call(assertion, inner)
            if isinstance(symbol.decl, RelationDecl) and not symbol.decl.changing:
                hint = f"declare `changing relation {name}`"
                self.found.add(D028, assertion.span, f"`{name}` is a fixed relation, so nobody needs to claim it", hint)
            want: ItemSort | None = None
        elif name not in CLAIMS:
            kinds = [*CLAIMS, *self.names.those("relation")]
            hint = near(name, kinds, 0) or f"one of {listed(CLAIMS)}"
            self.found.add(R016, assertion.name_span, f"there is no claim `{name}`", hint)
            return
        else:
            want = self._assertion(assertion, inner)
        self._test(claim, want, inner)

    def _assertion(self, call: Call, scope: Scope) -> ItemSort | None:
        """Checks the arguments of a claim; the sort of its test, None where it takes none."""
        counts = CLAIMS[call.name]
        if len(call.args) not in counts:
            wanted = "1 argument" if counts == (1,) else "1 or 2 arguments"
            self.found.add(S001, call.span, f"the claim `{call.name}` takes {wanted}, {len(call.args)} given")
            return None
        if call.name == "terminal":
            kind = call.args[0]
            if not isinstance(kind, Name) or kind.id not in TERMINALS:
                self.found.add(R016, kind.span, f"there is no terminal claim `{self.found.text(kind.span)}`", f"one of {listed(TERMINALS)}")
            return None
        for arg in call.args:
            sort = self.formulas.infer(arg, scope)
            if not accepts(WORK, sort):
                code = S016 if isinstance(sort, Maybe) and accepts(WORK, sort.item) else S002
                self.found.add(code, arg.span, f"the claim `{call.name}` is about an obligation, not {shown(sort)}")
        return {"status": STATUS, "assignment": AGENT}.get(call.name)

    def _test(self, claim: Claim, want: ItemSort | None, scope: Scope) -> None:
        if claim.test is None or claim.value is None:
            return
        sort = self.formulas.infer(claim.value, scope)
        name = claim.assertion.name if isinstance(claim.assertion, Call) else ""
        if want is None:
            self.found.add(S020, claim.value.span, f"the claim `{name}` takes no `{claim.test}`", "only status and assignment are tested")
        elif claim.test == "in" and not isinstance(sort, SetSort) and sort != ERROR:
            self.found.add(S020, claim.value.span, f"`in` is followed by a set, not {shown(sort)}", "write { … }, or `is`")
        else:
            item = sort.item if claim.test == "in" and isinstance(sort, SetSort) else sort
            if not comparable(want, item):
                hint = self.formulas.choices(want)
                self.found.add(S020, claim.value.span, f"the claim `{name}` is tested with {shown(want)}, not {shown(item)}", hint)

    # ---- delay --------------------------------------------------------------------------------------------------

    def _delay(self, decl: CertificateDecl) -> None:
        if decl.delay is None:
            return
        positive(decl.delay, "a delay", self.names, self.found, self.formulas.infer(decl.delay, {}))
        clocks = self.names.those("clock")
        if decl.delay_clock is not None:
            word = decl.delay_clock
            if word not in clocks and word.removesuffix("s") not in clocks:
                span = self.found.word(decl.span, word)
                self.found.add(R012, span, f"there is no clock `{word}`", near(word.removesuffix("s"), clocks))
        elif len(clocks) != 1:
            why = "none is declared" if not clocks else f"there are {len(clocks)}"
            hint = "write `clock round 0..7`" if not clocks else f"say which: {listed(clocks)}"
            self.found.add(D015, decl.delay.span, f"a delay counts the ticks of a clock, and {why}", hint)

    # ---- circles ------------------------------------------------------------------------------------------------

    def circles(self, modules: tuple[Module, ...]) -> None:
        """Certificates that need themselves in every state: through premises without `where`, for the same arguments."""
        decls = {decl.name: decl for module in modules for decl in module.decls if isinstance(decl, CertificateDecl)}
        told: set[str] = set()
        for decl in decls.values():
            start = Node(decl.name, tuple(("Name", param.name) for param in decl.params))
            circle = Circle(decls, self.names).find(start, decl)
            if circle is not None and not told & {name for name, _ in circle}:
                told |= {name for name, _ in circle}
                path = " -> ".join([decl.name, *(name for name, _ in circle)])
                self.found.add(
                    D007,
                    circle[0][1],
                    f"`{decl.name}` needs itself in every state: {path}",
                    "a premise with `where`, or another premise, would end it",
                )


@dataclass(frozen=True, slots=True)
class Node:
    """A certificate for arguments that are written in the parameters of the one we started from."""

    schema: str
    args: tuple[Key, ...]


class Circle:
    """Searches for a way back to a certificate through what it always needs."""

    def __init__(self, decls: Mapping[str, CertificateDecl], names: Names) -> None:
        self.decls = decls
        self.names = names
        self.seen: set[Node] = set()

    def find(self, start: Node, decl: CertificateDecl) -> list[tuple[str, Span]] | None:
        self.sorts: dict[Key, ItemSort] = {("Name", param.name): self.names.sort(param.sort) for param in decl.params}
        return self._from(start, start)

    def _from(self, node: Node, goal: Node) -> list[tuple[str, Span]] | None:
        for following, span in self._needs(node):
            if following == goal:
                return [(following.schema, span)]
            if following not in self.seen:
                self.seen.add(following)
                rest = self._from(following, goal)
                if rest is not None:
                    return [(following.schema, span), *rest]
        return None

    def _needs(self, node: Node) -> list[tuple[Node, Span]]:
        """What a certificate needs in every state: unguarded premises, and `valid(…)` as a part of its conditions."""
        decl = self.decls.get(node.schema)
        if decl is None:
            return []
        env = {param.name: arg for param, arg in zip(decl.params, node.args, strict=False)}
        found: list[tuple[Node, Span]] = []
        for premise in decl.premises:
            if premise.where is None:
                bound = [(binder.name, self._candidates(binder.domain)) for binder in premise.binders]
                for choice in product(*(keys for _, keys in bound)):
                    inner = {**env, **{name: at for (name, _), at in zip(bound, choice, strict=True)}}
                    found += self._certificates(premise.expr, inner)
        for formula in (decl.valid, decl.current):
            for part in conjuncts(formula):
                if isinstance(part, Call) and part.name in ("valid", "active") and len(part.args) == 1:
                    found += self._certificates(part.args[0], env)
        return found

    def _candidates(self, domain: Expr) -> list[Key]:
        """The starting parameters that a bound name runs over whatever the state is."""
        symbol = self.names.symbols.get(domain.id) if isinstance(domain, Name) else None
        if symbol is None or symbol.kind != "sort":
            return []
        return [at for at, sort in self.sorts.items() if sort == symbol.sort or accepts(symbol.sort, sort)]

    def _certificates(self, expr: Expr, env: Mapping[str, Key]) -> list[tuple[Node, Span]]:
        match expr:
            case Name(id=name, span=span) if name in self.decls and name not in env:
                return [(Node(name, ()), span)]
            case Call(name=name, args=args, span=span) if name in self.decls:
                known = [env.get(arg.id, key(arg)) if isinstance(arg, Name) else key(arg) for arg in args]
                bound = set(env)
                if any(not isinstance(arg, Name) and bound & names_in(arg) for arg in args):
                    return []
                return [(Node(name, tuple(known)), span)]
            case Binary(op="and"):
                return [one for part in conjuncts(expr) for one in self._certificates(part, env)]
            case Call(name="valid" | "active", args=(inner,)):
                return self._certificates(inner, env)
            case _:
                return []


def positive(expr: Expr, what: str, names: Names, found: Found, sort: ItemSort) -> None:
    """Reports a constant that is not 1, 2, 3, …"""
    value = evaluate(expr, names.constants)
    if sort == ERROR:
        return
    if value is None:
        if not names.parameters_only(expr):
            found.add(D010, expr.span, f"{what} is a positive whole number, `{found.text(expr.span)}` is not known beforehand")
    elif not isinstance(value, Fraction) or value.denominator != 1 or value < 1:
        found.add(D010, expr.span, f"{what} is a positive whole number, not `{found.text(expr.span)}`")
