"""Every function and overload in the context that Heat gives to YAQL expressions, a line each, nearest context first.

    python tests/conformance/yaql/context.py > tests/conformance/yaql/context.txt

with an interpreter in which `import heat` gives the oracle. A line tells: the context (0 is the nearest), how the
function may be called, its name, and its parameters with type, `?` where null is taken, and default.
"""

import collections.abc  # noqa: F401  (yaql does not import it by itself)

from yaql.language import expressions, specs, utils, yaqltypes
import yaql


def type_name(smart):
    if isinstance(smart, yaqltypes.Lambda):
        return ('MethodLambda' if smart.method else
                'LambdaInContext' if smart.with_context else 'Lambda')
    if isinstance(smart, yaqltypes.Keyword):
        return 'Word' if smart.expand else 'WordExpression'
    if isinstance(smart, yaqltypes.StringConstant):
        return 'TextConstant'
    if isinstance(smart, yaqltypes.YaqlExpression):
        return 'CallExpression' if smart._expression_types == (expressions.Function,) else 'Expression'
    if isinstance(smart, yaqltypes.MappingRule):
        return 'LazyRule'
    if isinstance(smart, yaqltypes.Iterable):
        return 'IterableButSet' if len(smart.validators) > 1 else 'Iterable'
    for kind, name in ((yaqltypes.String, 'Text'), (yaqltypes.Integer, 'Integer'), (yaqltypes.Number, 'Number'),
                       (yaqltypes.DateTime, 'DateTime'), (yaqltypes.Sequence, 'Sequence')):
        if isinstance(smart, kind):
            return name
    if isinstance(smart, yaqltypes.PythonType):
        return {object: 'Any', type(None): 'None', bool: 'Bool', int: 'Int', utils.MappingType: 'Mapping',
                utils.SetType: 'Set', utils.IteratorType: 'Iterator', utils.MappingRule: 'Rule'}.get(
                    smart.python_type) or {
                        'OrderingIterable': 'Ordered', 'Pattern': 'Regex', 'ContextBase': 'Context',
                        'timedelta': 'TimeSpan', 'datetime': 'DateTime'}[smart.python_type.__name__]
    return {'Yaqlized': 'Opened'}[type(smart).__name__]


def default(parameter):
    value = parameter.default
    if value is specs.NO_DEFAULT:
        return ''
    if value is utils.NO_VALUE:
        return '=NoValue'
    return '={}'.format(value)


def described(parameter, prefix=''):
    return '{}{}: {}{}{}'.format(
        prefix, parameter.alias or parameter.name, type_name(parameter.value_type),
        '?' if parameter.value_type.nullable else '', default(parameter))


def signature(function):
    visible = {key: parameter for key, parameter in function.parameters.items()
               if not isinstance(parameter.value_type, yaqltypes.HiddenParameterType)}
    positional = sorted((p.position, p) for key, p in visible.items() if key not in '**')
    parts = [described(parameter) for _, parameter in positional]
    parts += [described(visible[key], key) for key in ('*', '**') if key in visible]
    return ', '.join(parts)


def main():
    context, level, lines = yaql.create_context(), 0, []
    while context is not None:
        for name, overloads in context._functions.items():
            for function in overloads:
                form = ('both' if function.is_function and function.is_method else
                        'method' if function.is_method else 'function')
                rules = ' rules' if function.no_kwargs else ''
                lines.append('{} {}{} {}({})'.format(level, form, rules, name, signature(function)))
        context, level = context.parent, level + 1
    print('\n'.join(sorted(lines)))


if __name__ == '__main__':
    main()
