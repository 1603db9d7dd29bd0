"""Answers property probes with heat's own classes: reads probes from a JSON file, prints the answers as JSON."""
import json
import sys

from heat.common import exception
from heat.engine import constraints as constr
from heat.engine import attributes
from heat.engine import properties
from heat.engine import resource
from heat.engine import translation


class KnownThings(object):
    """A constraint that knows everything whose name does not begin with "bad"."""

    def error(self, value):
        return "Error validating value '%s': there is no such thing" % value

    def validate(self, value, context):
        values = value if isinstance(value, list) else [value]
        return not any(str(v).startswith('bad') for v in values)


class Environment(object):
    def get_constraint(self, name):
        return KnownThings if name == 'known' else None


class Client(object):
    """Finds an id for every name that does not begin with "bad"."""

    def find(self, value):
        if str(value).startswith('bad'):
            raise Exception('there is no %s' % value)
        return 'id-of-%s' % value

    def find_entity(self, entity, value):
        return 'id-of-%s-%s' % (entity, self.find(value)[6:])


def constraint(shown):
    description = shown.get('description')
    if 'length' in shown:
        return constr.Length(description=description, **shown['length'])
    if 'range' in shown:
        return constr.Range(description=description, **shown['range'])
    if 'modulo' in shown:
        return constr.Modulo(description=description, **shown['modulo'])
    if 'allowed_values' in shown:
        return constr.AllowedValues(shown['allowed_values'], description)
    if 'allowed_pattern' in shown:
        return constr.AllowedPattern(shown['allowed_pattern'], description)
    return constr.CustomConstraint(shown['custom_constraint'], description, Environment())


def schema(shown):
    nested = shown.get('schema')
    if nested is not None:
        nested = schema(nested['*']) if '*' in nested else schemata(nested)
    return properties.Schema(
        shown['type'].capitalize(), description=shown.get('description'), default=shown.get('default'),
        schema=nested, required=shown['required'],
        constraints=[constraint(c) for c in shown.get('constraints', [])],
        implemented=shown['implemented'], update_allowed=shown['update_allowed'],
        immutable=shown['immutable'], allow_conversion=shown['allow_conversion'])


def schemata(shown):
    return {name: schema(s) for name, s in shown.items()}


def rule(props, shown):
    kind = shown.pop('rule')
    path = shown.pop('path')
    if kind == 'Resolve':
        shown['client_plugin'] = Client()
    return translation.TranslationRule(props, kind, path, **shown)


def outcome(read):
    try:
        return {'value': read()}
    except resource.UpdateReplace:
        return {'replace': True}
    except Exception as exc:
        return {'error': str(exc)}


def read_properties(probe, given):
    props = properties.Properties(schemata(probe['schema']), given, lambda v, nullable=False: v,
                                  section='properties', rsrc_description='of the resource')
    names = probe['names']
    rules = [rule(props, dict(r)) for r in probe['rules']]
    props.update_translation(rules, client_resolve=names != 'as given',
                             ignore_resolve_error=names == 'found or as given')
    return props


class Updated(object):
    """As much of a resource as it takes to compare properties."""

    name = 'probe'
    update_allowed_properties = ()

    def type(self):
        return 'Our::Probe'

    def needs_replace_with_prop_diff(self, *args):
        return False

    calc_update_allowed = resource.Resource.calc_update_allowed
    compare = resource.Resource.update_template_diff_properties


def answer(probe):
    if 'select' in probe:
        return attributes.select_from_attribute(probe['select'], probe['path'])
    if 'before' in probe:
        before = read_properties(probe, probe['before'])
        after = read_properties(probe, probe['given'])
        return outcome(lambda: sorted(Updated().compare(after, before)))
    # Each reading starts afresh, as validation and use are apart in an engine.
    given = lambda: json.loads(json.dumps(probe['given']))
    values = {}
    for name in probe['schema']:
        values[name] = outcome(lambda: read_properties(probe, given())[name])
    return {
        'values': values,
        'valid': outcome(lambda: read_properties(probe, given()).validate()),
        'names_valid': outcome(lambda: read_properties(probe, given()).validate(with_value=False)),
    }


with open(sys.argv[1]) as probes:
    answers = json.dumps([answer(probe) for probe in json.load(probes)])
# JSON proper has no infinity.
print(answers.replace('Infinity', '1e999'))
