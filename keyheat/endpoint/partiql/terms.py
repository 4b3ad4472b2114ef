"""Values, operands and conditions of a PartiQL statement as the trees that expressions have.

So that they are tested, checked and changed by the same functions as expressions.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-functions.html
"""

import re
from operator import itemgetter
from typing import Any, Final

from keyheat.endpoint.errors import ServiceError, nested_too_deep, validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.parsing import ConditionReader
from keyheat.endpoint.expressions.tokens import END
from keyheat.endpoint.partiql.statements import Template, constant, set_of
from keyheat.endpoint.partiql.tokens import QUOTED, STRING, UNEXPECTED_TERM, StatementReader, malformed
from keyheat.endpoint.values import canonical
from keyheat.model.limits import NESTING_LEVELS

SIGNS: Final = {"!=": "<>"} | {sign: sign for sign in trees.COMPARISONS}
FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
FUNCTIONS: Final = ("begins_with", "contains", "attribute_type", "size")
"""Those of a condition."""
BRACKETS = 100
"""Open at a time in a condition."""
NO_RIGHT_SIDE = "Missing right-hand side expression of infix operator"
_LONG_EXPONENT = re.compile(r"[eE][+-]?[0-9]{10}").search


class Terms:
    """Reads the terms of one statement. `values` are those met so far, by the names that trees have."""

    def __init__(self, reader: StatementReader) -> None:
        self.reader = reader
        self.values: dict[str, Template] = {}

    def value(self, under: str = "root", depth: int = 0) -> Template:
        """Read a literal or a parameter, with everything nested in it."""
        reader = self.reader
        keyword = reader.keyword
        if depth > NESTING_LEVELS:
            raise nested_too_deep()
        if reader.took("?"):
            reader.parameters += 1
            return itemgetter(reader.parameters - 1)
        if reader.took("["):
            elements = self._members("]", under, depth)
            return lambda parameters: {"L": [element(parameters) for element in elements]}
        if reader.took("<<"):
            members = self._members(">>", under, depth)
            return lambda parameters: set_of([member(parameters) for member in members])
        if reader.took("{"):
            named = self._map(under, depth)
            return lambda parameters: {"M": {name: template(parameters) for name, template in named.items()}}
        if reader.next.startswith(STRING):
            return constant({"S": reader.take()[1:]})
        if reader.took("NULL"):
            return constant({"NULL": True})
        if reader.took("TRUE") or reader.took("FALSE"):
            return constant({"BOOL": keyword == "TRUE"})
        return constant({"N": self._number(under)})

    def _number(self, under: str) -> str:
        sign = "-" if self.reader.took("-") else ""
        if not sign:
            self.reader.took("+")
        if self.reader.next[0] not in "0123456789." or self.reader.next == ".":
            raise self.reader.unexpected()
        text = self.reader.take()
        if _LONG_EXPONENT(text):
            raise malformed()
        try:
            return canonical(sign + text)
        except ServiceError as error:
            raise validation_error(f"{error.message} under {under}") from error

    def _members(self, end: str, under: str, depth: int) -> tuple[Template, ...]:
        members: list[Template] = []
        while not self.reader.took(end):
            if members:
                self.reader.want(",")
            members.append(self.value(f"{under}[{len(members)}]", depth + 1))
        return tuple(members)

    def _map(self, under: str, depth: int) -> dict[str, Template]:
        members: dict[str, Template] = {}
        while not self.reader.took("}"):
            if members:
                self.reader.want(",")
            token = self.reader.take()
            if token[0] not in (STRING, QUOTED):
                raise malformed(UNEXPECTED_TERM)
            name = token[1:]
            self.reader.want(":")
            # The path in messages begins inside of an attribute's value.
            members[name] = self.value(f"{under}.{name}" if depth else "root", depth + 1)
        return members

    def bindings(self) -> dict[str, Any]:
        """The values of the statement by name, and the number of its parameters."""
        return {"values": tuple(self.values.items()), "parameters": self.reader.parameters}

    def named(self, value: Template) -> trees.Reference:
        """Name a value, and return a reference to it."""
        name = f":{len(self.values)}"
        self.values[name] = value
        return trees.Reference(name)

    def operand(self) -> trees.Operand:
        """A path or a value."""
        if self.reader.names and self.reader.keyword not in ("TRUE", "FALSE", "NULL"):
            return trees.PathValue(self.reader.path())
        return self.named(self.value())

    def sum(self) -> trees.Operand:
        """What an update writes: values, paths and lists, added and taken away."""
        total = self._addend()
        while self.reader.next in ("+", "-"):
            self.reader.counted()
            total = trees.Sum(self.reader.take(), total, self._addend())
        return total

    def _addend(self) -> trees.Operand:
        reader = self.reader
        if not reader.calls:
            return self.operand()
        function = reader.function()
        if function != "list_append":
            raise validation_error(
                f"Unsupported function: {function}; the functions of SET are list_append, set_add, set_delete"
            )
        reader.want("(")
        first = self._plain()
        reader.want(",")
        second = self._plain()
        reader.want(")")
        return trees.FunctionCall(function, (first, second))

    def _plain(self) -> trees.Operand:
        if self.reader.calls:
            raise malformed(UNEXPECTED_TERM)
        return self.operand()

    def condition(self) -> trees.Tree:
        return _Condition(self).read()


class _Condition(ConditionReader):
    """One of a statement, whose operators and brackets are counted."""

    tokens: StatementReader
    functions = of_paths = FUNCTIONS
    signs = SIGNS

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms.reader)
        self.terms = terms

    def first(self) -> trees.Operand:
        """A path, a value or a function's call."""
        return self.call() if self.tokens.calls else self.terms.operand()

    argument = first

    def operand(self) -> trees.Operand:
        """An operand that has a value, as all have but the functions that are conditions themselves."""
        if self.tokens.next == END:
            raise malformed(NO_RIGHT_SIDE)
        operand = self.first()
        if isinstance(operand, trees.FunctionCall) and operand.function != "size":
            raise malformed(UNEXPECTED_TERM)
        return operand

    def simple(self) -> trees.Tree:
        tokens, left = self.tokens, self.first()
        if isinstance(left, trees.FunctionCall) and left.function != "size":
            return left
        tokens.counted()
        if tokens.took("IS"):
            return self._is(left)
        if not tokens.took("NOT"):
            tree = self.rest(left)
        elif tokens.keyword in ("BETWEEN", "IN"):
            tree = trees.Not(self.rest(left))
        else:
            raise tokens.unexpected()
        match tree:
            case trees.Comparison(sign, trees.Reference() as value, trees.PathValue() as path):
                return trees.Comparison(FLIPPED[sign], path, value)
        return tree

    def choices(self) -> tuple[trees.Operand, ...]:
        if not self.tokens.took("["):
            return super().choices()
        choices = self.tokens.several(self.operand)
        self.tokens.want("]")
        return choices

    def _is(self, left: trees.Operand) -> trees.Tree:
        negated = self.tokens.took("NOT")
        kind = self.tokens.take().upper()
        if not isinstance(left, trees.PathValue) or kind not in ("NULL", "MISSING"):
            raise malformed("Expected type name")
        if kind == "MISSING":
            return trees.FunctionCall("attribute_exists" if negated else "attribute_not_exists", (left,))
        tree = trees.FunctionCall("attribute_type", (left, self.terms.named(constant({"S": "NULL"}))))
        return trees.Not(tree) if negated else tree

    def begin(self, word: str) -> None:
        if word == "(" and self.open.count(word) == BRACKETS:
            raise validation_error(f"A condition has at most {BRACKETS} brackets open at a time")
        super().begin(word)
        if word != "(":
            self.tokens.counted()
        if word in ("AND", "OR") and self.tokens.next == END:
            raise malformed(NO_RIGHT_SIDE)
