"""What can be changed in a C source so that it still is one: a single operator,
number, condition or statement.  changes(text) is a list of Change."""
import re
from typing import NamedTuple


class Change(NamedTuple):
    """The bytes begin..end of a text, by which others are replaced."""
    begin: int
    end: int
    instead: str
    kind: str


TOKEN = re.compile(
    r'(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|"(?:\\.|[^"\\])*"'
    r"|'(?:\\.|[^'\\])*')"
    r'|(?P<number>\b(?:0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b(?!\.))'
    r'|(?P<name>\b[A-Za-z_]\w*\b)'
    r'|(?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])',
    re.S | re.M)

SWAPS = {'<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='],
         '>=': ['>', '<'], '==': ['!='], '!=': ['=='], '&&': ['||'],
         '||': ['&&'], '+': ['-'], '-': ['+'], '+=': ['-='], '-=': ['+='],
         '++': ['--'], '--': ['++'], '/': ['*'], '%': ['/'], '&': ['|'],
         '|': ['&'], '|=': ['&='], '&=': ['|='], '<<': ['>>'], '>>': ['<<']}
# These are binary only behind a value.
UNARY_TOO = {'+', '-', '&'}
# What has a value though it ends in a name: no operator is behind these words.
WORDS = {'return', 'case', 'sizeof', 'else', 'do'}
# A statement in a line of its own that is a call or an assignment.
STATEMENT = re.compile(
    r'^\t+(?!return\b|goto\b|else\b|case\b|struct\b|const\b|static\b|typedef\b)'
    r'(?:(?:\+\+|--)?[*(]*[A-Za-z_][\w.>\-\[\]*&+ ()]*(?:[-+|&*/]?=[^=;][^;{}]*)?'
    r'|[a-z_]\w*\([^;{}]*\));$', re.M)
DECLARATION = re.compile(r'^\t+(?:unsigned |[a-z]\w* )+\**\w')


def in_functions(text):
    """The spans of bodies of functions: from a brace in the first column."""
    return [(m.start(), m.end())
            for m in re.finditer(r'^\{\n.*?^\}', text, re.S | re.M)]


def of_operator(token, before):
    """What to put in place of an operator, given the token before it."""
    op = token.group()
    if op in UNARY_TOO and not (
            before and (before.lastgroup == 'number' or before.group() in ')]'
                        or before.lastgroup == 'name'
                        and before.group() not in WORDS)):
        return []
    return SWAPS.get(op, [])


def of_number(token):
    """One more, and one less."""
    word = token.group()
    digits = re.match(r'0[xX][0-9a-fA-F]+|[0-9]+', word).group()
    value, suffix = int(digits, 0 if digits[:2] in ('0x', '0X') else 10), \
        word[len(digits):]
    return [f'{n}{suffix}' for n in (value + 1, value - 1) if n >= 0]


def of_tokens(text):
    """Changes of single operators, numbers, breaks and conditions."""
    tokens = [t for t in TOKEN.finditer(text) if t.lastgroup != 'skip']
    for i, token in enumerate(tokens):
        instead, kind = [], token.lastgroup
        if kind == 'op':
            instead = of_operator(token, tokens[i - 1] if i else None)
        elif kind == 'number':
            instead = of_number(token)
        for words in instead:
            yield Change(token.start(), token.end(), words, kind)
        if token.group() == 'if':
            begin, end = tokens[i + 1].start(), closing(tokens, i + 1)
            yield Change(begin, end, f'(!{text[begin:end]})', 'condition')


def closing(tokens, i):
    """Where the parenthesis of token i ends."""
    depth = 0
    for token in tokens[i:]:
        depth += (token.group() == '(') - (token.group() == ')')
        if not depth:
            return token.end()
    raise ValueError('a parenthesis is open')


def of_statements(text):
    """Changes that leave a call or an assignment out."""
    for match in STATEMENT.finditer(text):
        line = match.group()
        if DECLARATION.match(line) or line.count('(') != line.count(')'):
            continue
        begin = match.start() + len(line) - len(line.lstrip('\t'))
        yield Change(begin, match.end(), ';', 'statement')


def changes(text):
    """All of them, in the order of the text."""
    bodies = in_functions(text)
    return sorted(c for c in [*of_tokens(text), *of_statements(text)]
                  if any(b < c.begin and c.end <= e for b, e in bodies))


def changed(text, change):
    """The text with this change."""
    return text[:change.begin] + change.instead + text[change.end:]
