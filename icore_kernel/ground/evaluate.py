"""Expressions to values: symbolic evaluation in a finite universe, which is all that grounding is.

Names are resolved by scope: a package sees its own declarations and what the theory exports; the theory sees itself.
Quantifiers are expanded; calls with static arguments are evaluated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Protocol, assert_never

from icore_dsl import syntax as s
from icore_dsl.mistakes import G003, G005, G008
from icore_kernel.ground.fixpoint import unsettled
from icore_kernel.ground.limits import Deadline, numbers
from icore_kernel.ground.quantifiers import bindings, quantified
from icore_kernel.ground.scope import Env, Scope, Sizes, around, evaluations
from icore_kernel.ground.universe import Function, Universe
from icore_kernel.ground.values import Algebra, Element, GroundingError, SetValue, Value, is_static, show_value
from icore_kernel.terms.node import Term


class Words(Protocol):
    """What the theory's primitives and the state's slots answer (primitives.py)."""

    def primitive(self, name: str, args: tuple[Value, ...]) -> Value: ...
    def candidates(self, name: str, args: tuple[Value, ...], position: int, theory: bool) -> Iterable[Value] | None: ...
    def attribute(self, element: Element, name: str) -> Value: ...
    def signature(self, name: str, work: Value) -> Value: ...
    def relation(self, name: str, left: Value, right: Value) -> Value: ...
    def clock(self, name: str) -> Value: ...
    def least(self, function: Function, args: tuple[Value, ...]) -> Value: ...
    def closure(self, relation: str, reflexive: bool, left: Value, right: Value, theory: bool) -> Value: ...


UNKNOWN = object()


class Evaluator:
    """`value(expr, env, theory)`: the value of an expression; `env` binds parameters and quantified names."""

    def __init__(self, universe: Universe, algebra: Algebra, deadline: Deadline) -> None:
        self.universe = universe
        self.deadline = deadline
        self.algebra = algebra
        self.words: Words | None = None
        self._calls: dict[tuple[bool, str, tuple[Value, ...]], Value] = {}

    def forget(self) -> None:
        """Drop remembered calls: the words they asked have changed."""
        self._calls.clear()

    # ---- entry points ------------------------------------------------------------------------------------------
    def formula(self, expr: s.Expr, env: Env, theory: bool = False) -> Term:
        return self.algebra.boolean(self.value(expr, env, theory))

    def static(self, expr: s.Expr, env: Env) -> Value:
        """A value that must not depend on the state. Raises GroundingError where it does."""
        return self.known(expr, env, False)

    def known(self, expr: s.Expr, env: Env, theory: bool) -> Value:
        """`static`, in the scope of a package or of the theory."""
        value = self.value(expr, env, theory)
        if is_static(value) or (isinstance(value, SetValue) and all(t.is_true for _, t in value.items)):
            return value
        raise GroundingError(G003, "must not depend on the state", expr.span)

    def value(self, expr: s.Expr, env: Env, theory: bool) -> Value:
        alg = self.algebra
        try:
            match expr:  # the most frequent first
                case s.Name():
                    return self._name(expr, env, theory)
                case s.Call():
                    return self.call(expr.name, [self.value(a, env, theory) for a in expr.args], theory, expr.span, around(env))
                case s.Binary():
                    return self._binary(expr, env, theory)
                case s.Quant():
                    return quantified(self, expr, env, theory)
                case s.Num():
                    return expr.value
                case s.BoolLit():
                    return expr.value
                case s.NoneLit():
                    return None
                case s.Index():
                    key = self.value(expr.index, env, theory)
                    if is_static(key) and key not in self.universe.families.get(expr.name, {}):
                        raise GroundingError(G005, f"no member {expr.name}[{show_value(key)}]", expr.span)
                    return alg.lift([key], lambda a: self.universe.families[expr.name].get(a[0]))
                case s.Attr():
                    return self.attribute(self.value(expr.target, env, theory), expr.name)
                case s.Unary():
                    operand = self.value(expr.operand, env, theory)
                    return alg.not_(operand) if expr.op == "not" else alg.neg(operand)
                case s.SetLit():
                    return alg.set_of((self.value(i, env, theory), alg.bank.true) for i in expr.items)
                case s.RangeLit():
                    return SetValue(tuple((v, alg.bank.true) for v in self._range(expr.low, expr.high, env, theory)))
                case s.SetOf():
                    pairs = self.bindings(expr.binders, expr.where, env, theory)
                    return alg.set_of((self.value(expr.item, inner, theory), condition) for inner, condition in pairs)
                case s.If():
                    condition = self.formula(expr.condition, env, theory)
                    if condition.is_true:
                        return self.value(expr.then, env, theory)
                    if condition.is_false:
                        return self.value(expr.otherwise, env, theory)
                    return alg.choose(condition, self.value(expr.then, env, theory), self.value(expr.otherwise, env, theory))
                case s.Closure():
                    left, right = self.value(expr.left, env, theory), self.value(expr.right, env, theory)
                    return alg.lift([left, right], lambda a: self._words().closure(expr.relation, expr.reflexive, a[0], a[1], theory))
                case _:
                    assert_never(expr)
        except GroundingError as wrong:
            if wrong.place is None and not theory:
                wrong.place = expr.span
            raise

    # ---- names and calls -----------------------------------------------------------------------------------------
    def _words(self) -> Words:
        if self.words is None:
            raise GroundingError(G003, "this must not depend on the state")
        return self.words

    def _name(self, expr: s.Name, env: Env, theory: bool) -> Value:
        if expr.id in env:
            return env[expr.id]
        names = self._names(theory)
        if expr.id in names:
            return names[expr.id]
        if expr.id in self.universe.clocks and not theory:
            return self._words().clock(expr.id)
        elements = self.elements(expr.id, theory)
        if elements is not None:
            return SetValue(tuple((e, self.algebra.bank.true) for e in elements))
        return self.call(expr.id, [], theory, expr.span, around(env))

    def _names(self, theory: bool) -> Mapping[str, Value]:
        return self.universe.theory_names if theory else self.universe.names

    def is_call(self, name: str, theory: bool) -> bool:
        """Whether a name that no binder gives is that of a definition without arguments: values, clocks and sorts come before it."""
        if name in self._names(theory) or (not theory and name in self.universe.clocks):
            return False
        return self.elements(name, theory) is None

    def elements(self, name: str, theory: bool) -> tuple[Value, ...] | None:
        """The elements of a sort. The theory's own words come before a package's sorts of the same name."""
        if theory and (name in self.universe.theory_functions or name in self.universe.primitives):
            return None
        return self.universe.elements(name)

    def attribute(self, target: Value, name: str) -> Value:
        def of(args: tuple[Value, ...]) -> Value:
            element = args[0]
            if not isinstance(element, Element):
                return self._nothing(name)
            if element.sort == "Obligation":
                return self.universe.works[element].statics[name]
            if element.sort == "Agent" and self.universe.agent_fields[name].kind == "attribute":
                return self.universe.agent_values[element, name]
            return self._words().attribute(element, name)

        return self.algebra.lift([target], of)

    def _nothing(self, name: str) -> Value:
        """A field of nothing (of `none`, of a member that a family lacks): empty, false, 0, and otherwise none."""
        universe = self.universe
        fields = list(universe.agent_fields.values())
        fields += (f for slot in universe.slots.values() for f in slot.fields)
        fields += (f for certificate in universe.certificate_decls.values() for f in certificate.fields)
        match next((f.sort for f in fields if f.name == name), None):
            case s.SortSet():
                return SetValue(())
            case s.SortName(name="bool"):
                return False
            case s.SortRange() | s.SortValues() | s.SortName(name="rational" | "int"):
                return Fraction(0)
        return None

    def call(self, name: str, args: list[Value], theory: bool, span: s.Span, sizes: Sizes = ()) -> Value:
        """`sizes`: of the domains of the quantifiers around the call."""
        key = (theory, name, tuple(args))
        if all(is_static(a) for a in args):
            found = self._calls.get(key, UNKNOWN)
            if found is not UNKNOWN:
                return found  # type: ignore[return-value]
            self.deadline.check()
            result = self._call(name, args, theory, span, sizes)
            if not unsettled(result):
                self._calls[key] = result
            return result
        return self._call(name, args, theory, span, sizes)

    def _call(self, name: str, args: list[Value], theory: bool, span: s.Span, sizes: Sizes) -> Value:
        universe, alg = self.universe, self.algebra
        if name in {"max", "min"}:  # words of the grammar, of two arguments or more
            return alg.extreme(args, name == "max")
        if not theory:
            if name in universe.slots or name in universe.certificate_decls:
                return alg.lift(args, lambda a: universe.instances.get((name, a)))
            if name in universe.relations:
                if not universe.relations[name].changing:
                    return alg.lift(args, lambda a: (a[0], a[1]) in universe.facts[name])
                return alg.lift(args, lambda a: self._words().relation(name, a[0], a[1]))
            if name in universe.signatures:
                return alg.lift(args, lambda a: self._words().signature(name, a[0]))
        function = None if theory else universe.functions.get(name)
        function = function or universe.theory_functions.get(name)
        if function is not None and function.decl.kind in {"define", "least"}:
            if function.decl.kind == "least":
                least = function
                return alg.lift(args, lambda a: self._words().least(least, a))
            return self.apply(function, args, evaluations(universe, function, args, sizes))
        if name in universe.primitives:
            return alg.lift(args, lambda a: self._words().primitive(name, a))
        raise GroundingError(G008, f"nothing is called {name!r}", span)

    def apply(self, function: Function, args: Iterable[Value], sizes: Sizes = ()) -> Value:
        decl = function.decl
        env = Scope.of(dict(zip((p.name for p in decl.params), args, strict=True)), sizes)
        if isinstance(decl.body, s.TableBody):
            return self._table(decl.body, env)
        return self.value(decl.body, env, function.theory)

    def _table(self, table: s.TableBody, env: Env) -> Value:
        row, column = self.value(table.row_key, env, False), self.value(table.column_key, env, False)
        if not table.columns:  # one number a row
            single = {name.id: number.value for name, (number,) in table.rows}
            return self.algebra.lift([row], lambda a: single.get(str(a[0]), Fraction(0)))
        cells = {(name.id, c.id): n.value for name, numbers in table.rows for c, n in zip(table.columns, numbers, strict=True)}
        return self.algebra.lift([row, column], lambda a: cells.get((str(a[0]), str(a[1])), Fraction(0)))

    # ---- operators -------------------------------------------------------------------------------------------------
    def _binary(self, expr: s.Binary, env: Env, theory: bool) -> Value:
        alg = self.algebra
        op = expr.op
        if op in {"and", "or", "implies"}:
            left = self.formula(expr.left, env, theory)
            if op == "and":
                return False if left.is_false else alg.truth(alg.bank.and_(left, self.formula(expr.right, env, theory)))
            if op == "or":
                return True if left.is_true else alg.truth(alg.bank.or_(left, self.formula(expr.right, env, theory)))
            return True if left.is_false else alg.truth(alg.bank.implies(left, self.formula(expr.right, env, theory)))
        a = self.value(expr.left, env, theory)
        if op in {"in", "not_in"}:
            if isinstance(expr.right, s.RangeLit):
                low, high = self.value(expr.right.low, env, theory), self.value(expr.right.high, env, theory)
                inside = alg.all_of([alg.less_equal(low, a), alg.less_equal(a, high)])
            else:
                inside = alg.member(a, self.value(expr.right, env, theory))
            return inside if op == "in" else alg.not_(inside)
        b = self.value(expr.right, env, theory)
        table: dict[str, Callable[[Value, Value], Value]] = {
            "==": alg.equal,
            "!=": lambda x, y: alg.not_(alg.equal(x, y)),
            "iff": alg.equal,
            "<": alg.less,
            "<=": alg.less_equal,
            ">": lambda x, y: alg.less(y, x),
            ">=": lambda x, y: alg.less_equal(y, x),
            "+": alg.add,
            "-": alg.sub,
            "*": alg.mul,
            "/": alg.div,
            "div": alg.floordiv,
            "mod": alg.mod,
        }
        return table[op](a, b)

    def _range(self, low: s.Expr, high: s.Expr, env: Env, theory: bool) -> list[Value]:
        lo, hi = self.value(low, env, theory), self.value(high, env, theory)
        if not isinstance(lo, Fraction) or not isinstance(hi, Fraction):
            raise GroundingError(G003, "the bounds of a range must not depend on the state", low.span)
        return [Fraction(n) for n in numbers(int(lo), int(hi), low.span)]

    def bindings(self, binders: tuple[s.Binder, ...], where: s.Expr | None, env: Env, theory: bool) -> Iterator[tuple[Env, Term]]:
        """Every binding, with the condition under which it counts; those that can never count are left out."""
        return bindings(self, binders, where, env, theory)
