"""Values, operands and conditions of a PartiQL statement as the trees that expressions have.

So that they are tested, checked and changed by the same functions as expressions.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-operators.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-functions.html
"""

import re
from typing import Final

from keyheat.endpoint.errors import ServiceError, nested_too_deep, validation_error
from keyheat.endpoint.expressions import trees
from keyheat.endpoint.expressions.parsing import ConditionReader
from keyheat.endpoint.partiql.statements import ListOf, MapOf, Parameter, Scalar, SetOf, Template
from keyheat.endpoint.partiql.tokens import UNEXPECTED_TERM, StatementReader, malformed
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
        """A literal or a parameter, whatever is nested in it."""
        reader = self.reader
        token = reader.next
        if depth > NESTING_LEVELS:
            raise nested_too_deep()
        if reader.took("?"):
            reader.parameters += 1
            return Parameter(reader.parameters - 1)
        if reader.took("["):
            return ListOf(self._members("]", under, depth))
        if reader.took("<<"):
            return SetOf(self._members(">>", under, depth))
        if reader.took("{"):
            return self._map(under, depth)
        if token.kind == "string":
            return Scalar({"S": reader.take().text})
        if token.keyword in ("TRUE", "FALSE", "NULL"):
            return Scalar(
                {"NULL": True} if reader.take().keyword == "NULL" else {"BOOL": token.keyword == "TRUE"}
            )
        return Scalar({"N": self._number(under)})

    def _number(self, under: str) -> str:
        sign = "-" if self.reader.took("-") else ""
        if not sign:
            self.reader.took("+")
        if self.reader.next.kind != "number":
            raise self.reader.unexpected()
        text = self.reader.take().text
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

    def _map(self, under: str, depth: int) -> MapOf:
        members: dict[str, Template] = {}
        while not self.reader.took("}"):
            if members:
                self.reader.want(",")
            name = self.reader.take()
            if name.kind not in ("string", "quoted"):
                raise malformed(UNEXPECTED_TERM)
            self.reader.want(":")
            # The path in messages begins inside of an attribute's value.
            members[name.text] = self.value(f"{under}.{name.text}" if depth else "root", depth + 1)
        return MapOf(tuple(members.items()))

    def _named(self) -> trees.Reference:
        value = self.value()
        name = f":{len(self.values)}"
        self.values[name] = value
        return trees.Reference(name)

    def operand(self) -> trees.Operand:
        """What a condition compares: a path, a value, or a function of a path."""
        token = self.reader.next
        if self.reader.calls:
            return self._call()
        if token.kind in ("name", "quoted") and token.keyword not in ("TRUE", "FALSE", "NULL"):
            return trees.PathValue(self.reader.path())
        return self._named()

    def _call(self) -> trees.FunctionCall:
        function = self.reader.take().text.lower()
        if function not in FUNCTIONS:
            raise validation_error(
                f"Unsupported function: {function}; the functions of a condition are {', '.join(FUNCTIONS)}"
            )
        self.reader.counted()
        self.reader.want("(")
        arguments = [self.operand()]
        while self.reader.took(","):
            arguments.append(self.operand())
        self.reader.want(")")
        calls = any(isinstance(one, trees.FunctionCall) for one in arguments)
        if calls or len(arguments) != trees.ARGUMENTS[function]:
            raise validation_error(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {function}, number of operands: {len(arguments)}"
            )
        if not isinstance(arguments[0], trees.PathValue):
            raise validation_error(
                f"Operator or function requires a document path; operator or function: {function}"
            )
        if function == "attribute_type" and not isinstance(arguments[1], trees.Reference):
            raise malformed(UNEXPECTED_TERM)
        return trees.FunctionCall(function, tuple(arguments))

    def sum(self) -> trees.Operand:
        """What an update writes: values, paths and lists, added and taken away."""
        total = self._addend()
        while self.reader.keyword in ("+", "-"):
            self.reader.counted()
            total = trees.Sum(self.reader.take().text, total, self._addend())
        return total

    def _addend(self) -> trees.Operand:
        reader = self.reader
        if not reader.calls:
            return self.operand()
        function = reader.take().text.lower()
        if function != "list_append":
            raise validation_error(
                f"Unsupported function: {function}; the functions of SET are list_append, set_add, set_delete"
            )
        reader.counted()
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
        return _Condition(self.reader, self._simple).read()

    def _simple(self) -> trees.Tree:
        reader, left = self.reader, self.operand()
        if isinstance(left, trees.FunctionCall) and left.function != "size":
            return left
        reader.counted()
        if reader.took("IS"):
            return self._is(left)
        if reader.keyword in SIGNS:
            return self._comparison(left)
        negated = reader.took("NOT")
        if reader.took("BETWEEN"):
            low = self._compared()
            reader.want("AND")
            tree: trees.Tree = trees.Between(left, low, self._compared())
        elif reader.took("IN"):
            tree = trees.In(left, self._choices())
        else:
            raise reader.unexpected()
        return trees.Not(tree) if negated else tree

    def _compared(self) -> trees.Operand:
        """An operand that has a value, as all have but the functions that are conditions themselves."""
        found = self.operand()
        if isinstance(found, trees.FunctionCall) and found.function != "size":
            raise malformed(UNEXPECTED_TERM)
        return found

    def _comparison(self, left: trees.Operand) -> trees.Comparison:
        sign = SIGNS[self.reader.take().text]
        if self.reader.next.kind == "end":
            raise malformed(NO_RIGHT_SIDE)
        right = self._compared()
        if isinstance(left, trees.Reference) and isinstance(right, trees.PathValue):
            return trees.Comparison(FLIPPED[sign], right, left)
        return trees.Comparison(sign, left, right)

    def _is(self, left: trees.Operand) -> trees.Tree:
        negated = self.reader.took("NOT")
        kind = self.reader.take().keyword
        if not isinstance(left, trees.PathValue) or kind not in ("NULL", "MISSING"):
            raise malformed("Expected type name")
        if kind == "MISSING":
            return trees.FunctionCall("attribute_exists" if negated else "attribute_not_exists", (left,))
        name = f":{len(self.values)}"
        self.values[name] = Scalar({"S": "NULL"})
        tree = trees.FunctionCall("attribute_type", (left, trees.Reference(name)))
        return trees.Not(tree) if negated else tree

    def _choices(self) -> tuple[trees.Operand, ...]:
        end = "]" if self.reader.took("[") else ")"
        if end == ")":
            self.reader.want("(")
        choices = [self._compared()]
        while self.reader.took(","):
            choices.append(self._compared())
        self.reader.want(end)
        return tuple(choices)


class _Condition(ConditionReader):
    """One of a statement, whose operators and brackets are counted."""

    def _open(self, word: str) -> None:
        if word == "(" and self.open.count(word) == BRACKETS:
            raise validation_error(f"A condition has at most {BRACKETS} brackets open at a time")
        super()._open(word)
        if word != "(":
            self.tokens.counted()
        if word in ("AND", "OR") and self.tokens.next.kind == "end":
            raise malformed(NO_RIGHT_SIDE)
