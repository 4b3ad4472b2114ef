"""The text of an expression as words and signs, read one after the other, within the limits of its size.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.endpoint.expressions.trees import DocumentPath, Reference
from keyheat.model.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS, NESTING_LEVELS

WORDS: Final = """
ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE ARRAY AS ASC
ASCII ASENSITIVE ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH AUTHORIZATION AUTHORIZE AUTO AVG BACK
BACKUP BASE BATCH BEFORE BEGIN BETWEEN BIGINT BINARY BIT BLOB BLOCK BOOLEAN BOTH BREADTH BUCKET BULK BY BYTE
CALL CALLED CALLING CAPACITY CASCADE CASCADED CASE CAST CATALOG CHAR CHARACTER CHECK CLASS CLOB CLOSE CLUSTER
CLUSTERED CLUSTERING CLUSTERS COALESCE COLLATE COLLATION COLLECTION COLUMN COLUMNS COMBINE COMMENT COMMIT
COMPACT COMPILE COMPRESS CONDITION CONFLICT CONNECT CONNECTION CONSISTENCY CONSISTENT CONSTRAINT CONSTRAINTS
CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY CORRESPONDING COUNT COUNTER CREATE CROSS CUBE CURRENT CURSOR CYCLE
DATA DATABASE DATE DATETIME DAY DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED DEFINE DEFINED
DEFINITION DELETE DELIMITED DEPTH DEREF DESC DESCRIBE DESCRIPTOR DETACH DETERMINISTIC DIAGNOSTICS DIRECTORIES
DISABLE DISCONNECT DISTINCT DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC EACH ELEMENT ELSE ELSEIF
EMPTY ENABLE END EQUAL EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT EXCEPTION EXCEPTIONS
EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL EXTRACT FAIL FALSE
FAMILY FETCH FIELDS FILE FILTER FILTERING FINAL FINISH FIRST FIXED FLATTERN FLOAT FOR FORCE FOREIGN FORMAT
FORWARD FOUND FREE FROM FULL FUNCTION FUNCTIONS GENERAL GENERATE GET GLOB GLOBAL GO GOTO GRANT GREATER GROUP
GROUPING HANDLER HASH HAVE HAVING HEAP HIDDEN HOLD HOUR IDENTIFIED IDENTITY IF IGNORE IMMEDIATE IMPORT IN
INCLUDING INCLUSIVE INCREMENT INCREMENTAL INDEX INDEXED INDEXES INDICATOR INFINITE INITIALLY INLINE INNER
INNTER INOUT INPUT INSENSITIVE INSERT INSTEAD INT INTEGER INTERSECT INTERVAL INTO INVALIDATE IS ISOLATION ITEM
ITEMS ITERATE JOIN KEY KEYS LAG LANGUAGE LARGE LAST LATERAL LEAD LEADING LEAVE LEFT LENGTH LESS LEVEL LIKE
LIMIT LIMITED LINES LIST LOAD LOCAL LOCALTIME LOCALTIMESTAMP LOCATION LOCATOR LOCK LOCKS LOG LOGED LONG LOOP
LOWER MAP MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE METHOD METRICS MIN MINUS MINUTE MISSING MOD MODE MODIFIES
MODIFY MODULE MONTH MULTI MULTISET NAME NAMES NATIONAL NATURAL NCHAR NCLOB NEW NEXT NO NONE NOT NULL NULLIF
NUMBER NUMERIC OBJECT OF OFFLINE OFFSET OLD ON ONLINE ONLY OPAQUE OPEN OPERATOR OPTION OR ORDER ORDINALITY
OTHER OTHERS OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER PAD PARALLEL PARAMETER PARAMETERS PARTIAL PARTITION
PARTITIONED PARTITIONS PATH PERCENT PERCENTILE PERMISSION PERMISSIONS PIPE PIPELINED PLAN POOL POSITION
PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVATE PRIVILEGES PROCEDURE PROCESSED PROJECT PROJECTION PROPERTY
PROVISIONING PUBLIC PUT QUERY QUIT QUORUM RAISE RANDOM RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE
REDUCE REF REFERENCE REFERENCES REFERENCING REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT
REPLACE REQUEST RESET RESIGNAL RESOURCE RESPONSE RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE
REVOKE RIGHT ROLE ROLES ROLLBACK ROLLUP ROUTINE ROW ROWS RULE RULES SAMPLE SATISFIES SAVE SAVEPOINT SCAN
SCHEMA SCOPE SCROLL SEARCH SECOND SECTION SEGMENT SEGMENTS SELECT SELF SEMI SENSITIVE SEPARATE SEQUENCE
SERIALIZABLE SESSION SET SETS SHARD SHARE SHARED SHORT SHOW SIGNAL SIMILAR SIZE SKEWED SMALLINT SNAPSHOT SOME
SOURCE SPACE SPACES SPARSE SPECIFIC SPECIFICTYPE SPLIT SQL SQLCODE SQLERROR SQLEXCEPTION SQLSTATE SQLWARNING
START STATE STATIC STATUS STORAGE STORE STORED STREAM STRING STRUCT STYLE SUB SUBMULTISET SUBPARTITION
SUBSTRING SUBTYPE SUM SUPER SYMMETRIC SYNONYM SYSTEM TABLE TABLESAMPLE TEMP TEMPORARY TERMINATED TEXT THAN
THEN THROUGHPUT TIME TIMESTAMP TIMEZONE TINYINT TO TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM TRANSLATE
TRANSLATION TREAT TRIGGER TRIM TRUE TRUNCATE TTL TUPLE TYPE UNDER UNDO UNION UNIQUE UNIT UNKNOWN UNLOGGED
UNNEST UNPROCESSED UNSIGNED UNTIL UPDATE UPPER URL USAGE USE USER USERS USING UUID VACUUM VALUE VALUED VALUES
VARCHAR VARIABLE VARIANCE VARINT VARYING VIEW VIEWS VIRTUAL VOID WAIT WHEN WHENEVER WHERE WHILE WINDOW WITH
WITHIN WITHOUT WORK WRAPPED WRITE YEAR ZONE
"""
RESERVED: Final = frozenset(WORDS.split())


Term = TypeVar("Term")
KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN"}
END = "<EOF>"
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_PATH = re.compile(r"[#:]?\w+(?:\s*(?:\.\s*#?\w+|\[\s*\w+\s*\]))*")
_COMPARISON = re.compile(r"<>|<=|>=|[=<>]")
# An update subtracts with a hyphen; a condition's names may have some, and begin with an underscore.
_UPDATE_TOKEN = re.compile(r"[#:]?[A-Za-z0-9_]+|\S")
_UPDATE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
_CONDITION_TOKEN = re.compile(r"[#:]?[A-Za-z0-9_\-]+|<>|<=|>=|\S")
_CONDITION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*").fullmatch
_PLACEHOLDER = re.compile(r"#[A-Za-z0-9_\-]+").fullmatch
_REFERENCE = re.compile(r":[A-Za-z0-9_\-]+").fullmatch


class NamesUsed(dict[str, str]):
    """ExpressionAttributeNames that remember which were asked for."""

    def __init__(self, names: Mapping[str, str], kind: str) -> None:
        super().__init__(names)
        self.used: set[str] = set()
        self._kind = kind

    def __getitem__(self, placeholder: str) -> str:
        self.used.add(placeholder)
        return super().__getitem__(placeholder)

    def __missing__(self, placeholder: str) -> str:
        raise validation_error(
            f"Invalid {self._kind}: An expression attribute name used in the document path is not defined; "
            f"attribute name: {placeholder}"
        )


class Reader:
    """Words and signs of a text, read one after the other, in an expression or in a statement."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [*words, END, END]
        self.at = 0

    @property
    def next(self) -> str:
        """The next token; `END` behind the last."""
        return self._words[self.at]

    @property
    def keyword(self) -> str:
        """The next token as a keyword, which may be written in small letters."""
        return self.next.upper()

    @property
    def calls(self) -> bool:
        """Whether the next two tokens are a function's name and its bracket."""
        return self._words[self.at + 1] == "(" and self.is_name(self.next)

    def is_name(self, word: str) -> bool:
        raise NotImplementedError

    def unexpected(self) -> ServiceError:
        """The error for an unexpected next token."""
        raise NotImplementedError

    def malformed(self) -> ServiceError:
        """The error for a misplaced last token."""
        raise NotImplementedError

    def invalid(self, message: str) -> ServiceError:
        """The error for well-formed text without a meaning."""
        raise NotImplementedError

    def name(self) -> str:
        """Read a name. Raises ValidationException."""
        raise NotImplementedError

    def position(self) -> str | int:
        """Read what stands in the brackets of a path. Raises ValidationException."""
        if not (self.next.isascii() and self.next.isdecimal()):
            raise self.unexpected()
        return int(self.take())

    def function(self) -> str:
        return self.take()

    def take(self) -> str:
        word = self.next
        self.at = min(self.at + 1, len(self._words) - 2)
        return word

    def took(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs; then they are read."""
        following = self._words[self.at : self.at + len(words)]
        if [word.upper() for word in following] != [*words]:
            return False
        self.at += len(words)
        return True

    def want(self, word: str) -> None:
        """Read this token. Raises ValidationException where it is another."""
        if not self.took(word):
            raise self.unexpected()

    def path(self) -> DocumentPath:
        """A document path: an attribute's name, and the steps from it into its value."""
        steps: list[str | int] = [self.name()]
        while self.next in (".", "["):
            if self.take() == ".":
                steps.append(self.name())
            else:
                steps.append(self.position())
                self.want("]")
        return tuple(steps)

    def several(self, read: Callable[[], Term]) -> tuple[Term, ...]:
        """One or more terms, with commas between them."""
        terms = [read()]
        while self.took(","):
            terms.append(read())
        return tuple(terms)

    def arguments(self, first: Callable[[], Term], second: Callable[[], Term]) -> tuple[Term, Term]:
        """The two arguments of a function, in brackets."""
        self.want("(")
        left = first()
        self.want(",")
        right = second()
        self.want(")")
        return left, right


class TokenReader(Reader):
    """The tokens of one expression. `values` are the `:names` met so far."""

    def __init__(self, text: str, names: NamesUsed, kind: str) -> None:
        updates = kind == "UpdateExpression"
        self._matches_name = _UPDATE_NAME if updates else _CONDITION_NAME
        self._text, self._names, self.kind = text, names, kind
        self._found = list((_UPDATE_TOKEN if updates else _CONDITION_TOKEN).finditer(text))
        self.values: set[str] = set()
        super().__init__(match[0] for match in self._found)

    def is_name(self, word: str) -> bool:
        return self._matches_name(word) is not None

    def unexpected(self) -> ServiceError:
        last = len(self._found) - 1
        if last < 0:
            return syntax_error(self.kind, f'token: "{END}"')
        begin, end = self._found[max(0, self.at - 1)].start(), self._found[min(self.at + 1, last)].end()
        return syntax_error(self.kind, f'token: "{self.next}", near: "{self._text[begin:end]}"')

    def malformed(self) -> ServiceError:
        return syntax_error(self.kind)

    def invalid(self, message: str) -> ServiceError:
        return validation_error(f"Invalid {self.kind}: {message}")

    def reference(self) -> Reference:
        """A value by its name, `:name`."""
        if not _REFERENCE(self.next):
            raise self.unexpected()
        self.values.add(self.next)
        return Reference(self.take())

    def name(self) -> str:
        word = self.next
        if _PLACEHOLDER(word):
            return self._names[self.take()]
        if word.upper() in KEYWORDS or not self.is_name(word):
            raise self.unexpected()
        if word.upper() in RESERVED:  # it has to be written as a placeholder
            raise self.invalid(f"Attribute name is a reserved keyword; reserved keyword: {word}")
        return self.take()


def syntax_error(kind: str, detail: str = "") -> ServiceError:
    return validation_error(f"Invalid {kind}: Syntax error;{' ' + detail if detail else ''}")


def path_too_deep(kind: str, levels: int) -> ServiceError:
    return validation_error(
        f"Invalid {kind}: The document path has too many nesting levels; nesting levels: {levels}"
    )


def measured(text: str, kind: str) -> str:
    """The text of an expression within the limits of its size, whatever it says. Raises ValidationException.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
    """
    if not text.strip():
        raise validation_error(f"Invalid {kind}: The expression can not be empty;")
    size = len(text.encode())
    if size > EXPRESSION_BYTES:
        raise validation_error(
            f"Invalid {kind}: Expression size has exceeded the maximum allowed size; expression size: {size}"
        )
    paths = _PATH.findall(text)
    levels = max((1 + path.count(".") + path.count("[") for path in paths), default=0)
    if levels > NESTING_LEVELS:
        raise path_too_deep(kind, levels)
    if _operators(text, paths, kind) > EXPRESSION_OPERATORS:
        raise validation_error(
            f"Invalid {kind}: The expression contains too many operators; "
            f"operator count: {EXPRESSION_OPERATORS + 1}"  # it stops counting there
        )
    return text


def _operators(text: str, words: list[str], kind: str) -> int:
    """Count comparisons, logical operators, sums and functions, without SET's `=` and BETWEEN's AND."""
    functions = sum(name.upper() not in KEYWORDS for name in _CALLED.findall(text))
    if kind == "UpdateExpression":
        return text.count("+") + text.count("-") + functions
    named = Counter(word.upper() for word in words)
    keywords = sum(named[keyword] for keyword in KEYWORDS) - named["BETWEEN"]
    return len(_COMPARISON.findall(text)) + keywords + functions
