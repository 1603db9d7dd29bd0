"""Random expressions: `generate.py SEED COUNT` prints cases as JSON, a line each. The same seed gives the same cases.

Most are well formed and mostly of fitting types, some mix types at random, and some are random tokens.
"""

import json
import random
import sys

DATA = {
    'numbers': [3, 1, 2, 7, -5, 2],
    'words': ['pear', 'Apple', 'fig', 'apple', ''],
    'people': [{'name': 'ann', 'age': 31, 'tags': ['a', 'b']}, {'name': 'bob', 'age': 7, 'tags': []},
               {'name': 'cy', 'age': 31, 'tags': ['b', 'c', 'd']}],
    'nested': {'a': {'b': [1, 2, {'c': 'deep'}]}, 'n': None, 'f': 2.5, 't': True},
    'text': 'one two  three',
    'empty': [],
}

# What an expression of a type may be; `{type}` stands for another one.
FORMS = {
    'int': ['0', '1', '2', '-3', '17', '{int} + {int}', '{int} - {int}', '{int} * {int}', '{int} / {int}',
            '{int} mod {int}', '-{int}', '({int})', '{list}.len()', '{list}.count()', '{text}.len()', '{dict}.len()',
            '{ints}.sum()', '{ints}.max()', '{ints}.min()', '{list}.indexOf({any})', '{text}.indexOf({text})',
            '{text}.lastIndexOf({text}, {int})', 'int({number})', 'abs({int})', 'sign({number})', '{ints}.first(0)',
            '{ints}.last(0)', 'max({int}, {int})', 'bitwiseAnd({int}, {int})', 'bitwiseXor({int}, {int})',
            'bitwiseNot({int})', 'shiftBitsRight({int}, 1)', '{ints}.aggregate($1 + $2, {int})',
            'switch({bool} => {int}, true => {int})', 'coalesce(null, {int})', 'selectCase({bool}, {bool})',
            'let({int}) -> $ + {int}', 'let(x => {int}, y => {int}) -> $x - $y', '$.data.people[{int}].age',
            'pow({int}, 2)', '{list}.indexWhere({lambda_bool})', 'def(f, $ * 2) -> f({int})',
            '{text}.substring({int}, {int}).len()', 'int({text})', 'timespan(seconds => {int}).microseconds'],
    'number': ['{int}', '1.5', '0.25', '{int} / 2.0', '{number} * {number}', '{number} - {number}', 'float({int})',
               'round({number}, 1)', '$.data.nested.f', '{number} mod {number}', '{number} / {number}'],
    'bool': ['true', 'false', '{int} > {int}', '{int} <= {number}', '{text} < {text}', '{any} = {any}', '{any} != {any}',
             'not {bool}', '{bool} and {bool}', '{bool} or {bool}', '{any} in {list}', '{text} in {text}',
             '{list}.any()', '{list}.all()', '{list}.any({lambda_bool})', '{list}.contains({any})',
             '{dict}.containsKey({text})', 'isString({any})', 'isList({any})', 'isDict({any})', 'isNumber({any})',
             'bool({any})', '{text}.startsWith({text})', '{text}.isEmpty()', '{text} =~ {pattern}',
             '{text} !~ {pattern}', 'null > {any}', '{dict}.containsValue({any})', '{set} <= {set}', 'isSet({any})',
             '{text}.matches({pattern})'],
    'text': ["'a'", "'abc'", '"x-y"', "''", 'word', "'ünï'", '{text} + {text}', '{text}.toUpper()', '{text}.trim()',
             '{text}.trim({text})', '{list}.join({text})', '{text}.join({list})', 'str({any})', '{text} * {int}',
             '{text}.replace({text}, {text})', '{text}.substring({int})', '{text}.substring({int}, {int})',
             'concat({text}, {text})', '$.data.text', '$.data.words[{int}]', '{text}.norm()', '{text}.toLower()',
             "{text}.replace({{a => {text}, word => {any}}})", 'regex({pattern}).replace({text}, {text})',
             'regex({pattern}).search({text})', 'regex({pattern}).replaceBy({text}, $.value.toUpper())',
             '$.data.people.first().name', 'hex({int})', '{text}.trimLeft("a")',
             'datetime({int}).format("%Y-%j %H")', 'escapeRegex({text})'],
    'pattern': ["'a'", "'[a-c]+'", "'(\\\\\\\\w)(\\\\\\\\w)'", "'^o|e$'", "'x*'", "'.'"],
    'ints': ['[1, 2, 3]', '[]', '[{int}, {int}, {int}]', '$.data.numbers', 'range({int})', 'range({int}, {int})',
             '{ints}.select($ + {int})', '{ints}.where($ > {int})', '{ints}.orderBy($)', '{ints}.orderByDescending($)',
             '{ints}.skip({int})', '{ints}.take({int})', '{ints}.reverse()', '{ints}.distinct()', '{ints} + {ints}',
             '{ints}.append({int})', '$.data.people.age', '{ints}.insert({int}, {int})', '{ints}.delete({int})',
             '{ints}.replace({int}, {int})', '{ints}.accumulate($1 + $2)', '{ints}.takeWhile($ < {int})',
             '{ints}.skipWhile($ < {int})', 'generate({int}, $ < 9, $ + 2)', '{set}.toList()', '{ints}.insertMany({int}, {ints})',
             '{ints}.orderBy($ mod 3).thenBy(-$)', '{ints}.concat({ints})', '{ints}.select($ * $)', '{ints} * {int}',
             '{ints}.memorize()', '{ints}.defaultIfEmpty([{int}])', '{ints}.replaceMany({int}, {ints}, {int})',
             'sequence({int}).take(3)', '{ints}.cycle().take(5)', '{int}.repeat(2)', '{ints}.toSet().toList()'],
    'list': ['{ints}', '{ints}', '$.data.words', '[{any}, {any}]', '{list}.flatten()', '{list}.enumerate()',
             '{list}.select([$, {any}])', '{list}.slice(2)', '{list}.splitAt({int})', '{list}.zip({list})',
             '{text}.split({text})', '{text}.split()', '{text}.toCharArray()', '{dict}.keys().toList()',
             '{dict}.values().toList()', '{dict}.items().toList()', '{list}.groupBy($)', '{list}.groupBy({lambda}, $)',
             '{list}.selectMany([$, $])', '{list}.zipLongest({list}, default => {any})', '{list}.sliceWhere({lambda_bool})',
             '{list}.splitWhere({lambda_bool})', '{ints}.join({ints}, $1 > $2, [$1, $2])', '{list}.where({lambda_bool})',
             '{list}.select({lambda})', '$.data.people.where($.age > {int}).select($.name)', '$.data.empty',
             'list({any}, {any})', '{list}.toList()', '{list}.reverse()', 'regex({pattern}).searchAll({text})',
             'regex({pattern}).split({text})', '{list}.distinct()', '$.data.people.tags.flatten()', '{list}.take(2)',
             '{ints}.groupBy($ mod 2, $, [$.len(), $.sum()])', 'generateMany({int}, [$ + 1].where($ < 5))',
             '{list}.orderBy(str($))', '{text}.rightSplit({text}, {int})', 'examine({bool}, {any})'],
    'set': ['set({int}, {int})', '{ints}.toSet()', 'set({int}, {int}, {int}, {int}, {int}, {int})', '{set}.union({set})',
            '{set}.difference({set})', '{set}.intersect({set})', '{set}.symmetricDifference({set})', '{set} - {set}',
            '{set}.add({int}, {int})', '{set}.remove({int})', '{set} + {set}', 'range(-3, 9).toSet()',
            'set({int} * 37, {int} * 100, {int} * 1001)', 'set({number}, {number}, {int})'],
    'dict': ['{{a => {any}}}', '{{a => {any}, b => {any}}}', 'dict(x => {any})', '$.data.nested', '$.data.people[0]',
             '{dict}.set({text}, {any})', '{dict} + {dict}', '{list}.toDict($)', '{ints}.toDict($, $ * 2)',
             '{dict}.delete({text})', '{dict}.mergeWith({dict})', '{dict}.deleteAll([{text}])', '{{{any} => {any}}}',
             '{dict}.mergeWith({dict}, $1 + $2, $1)', 'dict([[{text}, {any}], [{int}, {any}]])', '{dict}.set({dict})'],
    'any': ['{int}', '{int}', '{text}', '{text}', '{bool}', '{list}', '{dict}', 'null', '{number}', '{ints}', '{set}',
            '$.data.nested.a.b[2].c', '{dict}.get({text})', '{dict}[{text}, {any}]', '{any}?.len()', 'null?.len()',
            '{list}[{int}]', '{list}.first({any})', '{dict}.{name}', '{list}.first()', '{list}.single()',
            'let({any}) -> [$, $]', '{any}.assert(true)', 'call({name}, [{any}], {{}})', '({any})', 'timespan(days => {int})',
            'datetime(2020, 2, {int}).format("%d")'],
    'lambda': ['$', '$ + {int}', '[$]', 'str($)', '$.len()', '{any}', '$ = {any}', '{{v => $}}'],
    'lambda_bool': ['$', '$ > {int}', '$ = {any}', 'isString($)', '{bool}', '$ in {list}', 'not $'],
    'name': ['a', 'b', 'name', 'len', 'str', 'x', 'age', 'year'],
}

TOKENS = ['(', ')', '[', ']', '{', '}', ',', ',', '=>', '->', '.', '?.', '+', '-', '*', '/', 'mod', '=', '!=', '>', '<=',
          'in', 'not', 'and', 'or', '=~', '$', '$a', 'f(', 'len(', 'true', 'null', '1', '2.5', "'s'", 'word', ' ', '!',
          '"', '`v`', '1a', '__x', '#', "'\\x41'"]


def expression(source, kind, depth):
    forms = FORMS[kind]
    if source.random() < 0.04:
        kind = source.choice(sorted(FORMS))
        forms = FORMS[kind]
    if depth <= 0:
        forms = [form for form in forms if '{' not in form.replace('{{', '')] or forms
    form = source.choice(forms)
    filled = ''
    while form:
        if form.startswith('{{') or form.startswith('}}'):
            filled, form = filled + form[0], form[2:]
        elif form[0] == '{':
            inner, form = form[1:].split('}', 1)
            filled += expression(source, inner, depth - 1)
        elif form[0] == '}':
            filled, form = filled + '}', form[1:]
        else:
            filled, form = filled + form[0], form[1:]
    return filled


def soup(source):
    return ' '.join(source.choice(TOKENS) for _ in range(source.randint(1, 9)))


def cases(seed, count):
    source = random.Random(seed)
    made = 0
    while made < count:
        text = soup(source) if source.random() < 0.15 else expression(
            source, source.choice(['any', 'list', 'int', 'text', 'dict', 'bool', 'set']), source.randint(1, 4))
        if len(text) > 400 or 'random' in text:
            continue
        made += 1
        yield {'expression': text, 'data': DATA}


def main():
    for case in cases(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(case))


if __name__ == '__main__':
    main()
