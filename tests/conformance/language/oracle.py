"""Runs probes through the oracle's own modules and prints what came of each.

    python oracle.py DIRECTORY-OF-PROBES > OUTCOMES.json

An outcome is what the Rust side has to reach: values as JSON, errors as class and message.
"""

import copy
import datetime
import json
import logging
import pathlib
import re
import sys

from oslo_config import cfg

from heat.common import environment_format
from heat.common import environment_util
from heat.common import identifier
from heat.common import template_format
from heat.engine import api
from heat.engine import constraints
from heat.engine import environment
from heat.engine import function
from heat.engine import node_data
from heat.engine import parameter_groups
from heat.engine import properties
from heat.engine import resources
from heat.engine import stk_defn
from heat.engine import template

import rules

logging.disable(logging.WARNING)
cfg.CONF([], project='heat', default_config_files=[])
resources.initialise()

PARAMETERS = {
    'text': {'type': 'string', 'default': 'abc'},
    'number': {'type': 'number', 'default': 3},
    'fraction': {'type': 'number', 'default': '2.50'},
    'list': {'type': 'comma_delimited_list', 'default': 'x,y,z'},
    'json': {'type': 'json',
             'default': {'b': [1, 2.5, {'c': None}], 'a': u'\u00fc'}},
    'flag': {'type': 'boolean', 'default': True},
    'off': {'type': 'boolean', 'default': 'off'},
    'missing': {'type': 'string'},
}
# There is no cloud, and what our engine leaves to Heat's is left to it.
constraints.BaseCustomConstraint.validate = lambda self, value, context: True
for left in ('cron_expression', 'expiration', 'iso_8601', 'timezone'):
    resources.global_env().get_constraint(left).validate = constraints.BaseCustomConstraint.validate
stk_defn.StackDefinition.get_availability_zones = lambda self: ['nova', 'second']

RESOURCES = {
    'a': {'type': 'OS::Heat::TestResource'},
    'b': {'type': 'OS::Heat::TestResource'},
}
# The same for the older language.
CFN_PARAMETERS = {
    'text': {'Type': 'String', 'Default': 'abc'},
    'number': {'Type': 'Number', 'Default': 3},
    'list': {'Type': 'CommaDelimitedList', 'Default': 'x,y,z'},
    'json': {'Type': 'Json', 'Default': {'b': [1, 2.5, {'c': None}], 'a': u'\u00fc'}},
    'missing': {'Type': 'String'},
}
MAPPINGS = {'m': {'k': {'v': 'found'}, 'abc': {'v': [1, 'x']}}, 'abc': {'k': {'v': 5}}}
STATES = {
    'a': {
        'action': 'CREATE', 'status': 'COMPLETE', 'reference_id': 'a-id',
        'attributes': {
            'output': 'made',
            'show': {'x': 1},
            'tree': {'k': [1, 2], 't': 'v'},
            "tuple:('tree', 'k')": [1, 2],
            "tuple:('tree', 'k', 0)": 1,
            "tuple:('tree', 't')": 'v',
        },
    },
}


def expanded(probe):
    if 'snippet' not in probe:
        return probe
    probe = dict(probe)
    probe.setdefault('states', STATES)
    if 'cfn' in probe:
        probe['template'] = cfn_body(probe)
        return probe
    version = probe.get('version', '2021-04-16')
    body = {'heat_template_version': version,
            'parameters': PARAMETERS, 'resources': RESOURCES}
    if 'conditions' in probe:
        body['conditions'] = probe.pop('conditions')
    body['outputs'] = {'o': {'value': probe.pop('snippet')}}
    probe['template'] = body
    return probe


def cfn_body(probe):
    versions = {'AWSTemplateFormatVersion': '2010-09-09', 'HeatTemplateFormatVersion': '2012-12-12'}
    body = {probe['cfn']: versions[probe['cfn']], 'Parameters': CFN_PARAMETERS, 'Mappings': MAPPINGS,
            'Resources': {name: {'Type': definition['type']} for name, definition in RESOURCES.items()}}
    if 'conditions' in probe:
        body['Conditions'] = probe.pop('conditions')
    body['Outputs'] = {'o': {'Value': probe.pop('snippet')}}
    return body


def attempt(work):
    try:
        return {'ok': work()}
    except Exception as error:
        return {'error': [type(error).__name__, in_order(str(error))]}


def in_order(message):
    """Heat keeps the versions that a template claims to have in a set."""
    return re.sub(r'(?<=Ambiguous versions \()[^)]*', lambda found: ', '.join(sorted(found[0].split(', '))), message)


def attribute_key(key):
    if key.startswith('tuple:'):
        return eval(key[len('tuple:'):])
    return key


def node(name, state):
    attributes = {attribute_key(key): value
                  for key, value in state.get('attributes', {}).items()}
    return node_data.NodeData(1, name, 'uuid', state['reference_id'],
                              attributes, state['action'], state['status'])


def shown_attribute(attribute):
    return list(attribute) if isinstance(attribute, tuple) else [attribute]


def attributes_of(pairs):
    return sorted(([name] + shown_attribute(attribute)
                   for name, attribute in set(
                       (name, attribute) for name, attribute in pairs)),
                  key=json.dumps)


def resource_outcome(definition, stack):
    def required():
        return sorted(definition.required_resource_names())

    def frozen():
        frozen = definition.freeze()
        return {'properties': frozen._properties,
                'metadata': frozen._metadata,
                'update_policy': frozen._update_policy,
                'external_id': frozen._external_id,
                'deletion_policy': frozen.deletion_policy()}

    def attributes():
        return attributes_of(
            list(function.all_dep_attrs(definition._properties)) +
            list(function.all_dep_attrs(definition._metadata)))

    return {
        'type': definition.resource_type,
        'required': attempt(required),
        'attributes': attempt(attributes),
        'frozen': attempt(frozen),
        'hot': attempt(lambda: copy.deepcopy(definition.render_hot())),
    }


def output_outcome(output):
    return {
        'description': attempt(output.description),
        'value': attempt(output.get_value),
        'validate': attempt(output.validate),
        'required': attempt(lambda: sorted(output.required_resource_names())),
        'attributes': attempt(
            lambda: attributes_of(function.all_dep_attrs(output._value))),
    }


class Facade:
    """The resource in front of a nested stack, as the proxy of it looks to functions."""

    def __init__(self, shown):
        self._metadata = shown['metadata']
        self._update_policy = shown['update_policy']
        self._deletion_policy = shown['deletion_policy']
        self.t = self

    def metadata_get(self):
        return self._metadata

    def deletion_policy(self):
        return self._deletion_policy


def stack_outcome(probe):
    probe = copy.deepcopy(probe)
    env = environment.Environment(probe.get('environment', {}))
    tmpl = template.Template(probe['template'], files=probe.get('files'),
                             env=env)
    outcome = {'validate': attempt(tmpl.validate)}
    stack_id = identifier.HeatIdentifier('tenant', 'stack', 'id')
    states = {name: node(name, state)
              for name, state in probe.get('states', {}).items()}
    facade = probe.get('facade') and Facade(probe['facade'])
    stack = stk_defn.StackDefinition(None, tmpl, stack_id, states, facade)
    outcome['parameters'] = {
        name: {'value': attempt(parameter.value),
               'shown': attempt(lambda: str(parameter)),
               'hidden': bool(parameter.hidden()),
               'described': attempt(
                   lambda: api.format_validate_parameter(parameter))}
        for name, parameter in stack.parameters.params.items()}
    outcome['parameters_validate'] = attempt(stack.parameters.validate)
    outcome['groups'] = attempt(
        lambda: parameter_groups.ParameterGroups(tmpl).validate())
    outcome['conditions'] = attempt(
        lambda: tmpl.conditions(stack).validate())

    def definitions():
        stack._load_rsrc_defns()
        return {name: resource_outcome(defn, stack)
                for name, defn in stack._resource_defns.items()}

    def outputs():
        stack._load_output_defns()
        return {name: output_outcome(output)
                for name, output in stack._output_defns.items()}

    outcome['resources'] = attempt(definitions)
    if 'ok' in outcome['resources']:
        outcome['outputs'] = attempt(outputs)
    return outcome


def environment_outcome(probe):
    def loaded():
        env = environment.Environment(copy.deepcopy(probe['environment']))
        for addition in copy.deepcopy(probe.get('load', [])):
            env.load(addition)
        return env

    env = loaded()
    outcome = {'stored': env.env_as_dict()}

    def resolved(resource_type, name):
        # Anew each time: to look a type up for one resource changes the registry for all.
        info = loaded().get_resource_info(resource_type, resource_name=name)
        return [info.description, str(info.name if info.description ==
                                      'Plugin' else info.value)]

    outcome['types'] = [attempt(lambda: resolved(*pair))
                        for pair in probe.get('types', [])]
    outcome['made'] = [attempt(lambda: loaded().registry.get_class_to_instantiate(*pair) and None)
                       for pair in probe.get('made', [])]
    outcome['hooks'] = [env.registry.matches_hook(*pair)
                        for pair in probe.get('hooks', [])]
    outcome['restricted'] = [
        sorted(env.registry.get_rsrc_restricted_actions(name))
        for name in probe.get('restricted', [])]
    return outcome


def merge_outcome(probe):
    probe = copy.deepcopy(probe)
    tmpl = template.Template({'heat_template_version': '2018-08-31',
                              'parameters': probe['parameters']})
    params = probe['environment']
    environment_util.merge_environments(
        list(probe['files']),
        {name: json.dumps(content)
         for name, content in probe['files'].items()},
        params, tmpl.param_schemata())
    return params


def immutable_outcome(probe):
    def parameters(which):
        tmpl = template.Template({'heat_template_version': '2018-08-31',
                                  'parameters': probe[which]['schema']})
        return tmpl.parameters(None, probe[which]['values'])

    return sorted(parameters('old').immutable_params_modified(
        parameters('new'), probe['new']['values']) or [])


def python_outcome(probe):
    value = probe['value']
    return {'json': json.dumps(value),
            'sorted': json.dumps(value, sort_keys=True),
            'repr': repr(value), 'str': str(value)}


def regex_outcome(probe):
    match = re.compile(probe['pattern']).match

    def reached(text):
        found = match(text)
        return None if found is None else found.end()

    return [reached(text) for text in probe['texts']]


def format_outcome(probe):
    """Why each value is refused by a constraint that asks no service."""
    def refusal(value):
        checker = resources.global_env().get_constraint(probe['constraint'])()
        return None if checker.validate(value, None) else checker.error(value)

    return [refusal(value) for value in probe['values']]


def text_outcome(probe):
    if probe.get('as') == 'environment':
        return environment_format.parse(probe['text'])
    if probe.get('as') == 'any':
        return template_format.simple_parse(probe['text'])
    cfg.CONF.set_override('max_template_size', probe.get('limit', 524288))
    return template_format.parse(probe['text'])


def made(probe):
    """The template of a text, in a stack where all resources are made and every attribute asked for has a value."""
    cfg.CONF.set_override('max_template_size', 1 << 20)
    body = template_format.parse(probe['text'])
    states = {}
    stack = definition_of({'template': copy.deepcopy(body), 'environment': {}})
    for name, definition in stack._resource_defns.items():
        states[name] = {'action': 'CREATE', 'status': 'COMPLETE', 'reference_id': name + '-id', 'attributes': {}}
    asked = [attribute for definition in stack._resource_defns.values()
             for part in (definition._properties, definition._metadata)
             for attribute in function.all_dep_attrs(part)]
    asked += [attribute for output in stack._output_defns.values() for attribute in function.all_dep_attrs(output._value)]
    for name, attribute in asked:
        if name in states and attribute != '*':
            key = 'tuple:%r' % (attribute,) if isinstance(attribute, tuple) else attribute
            states[name]['attributes'][key] = '%s of %s' % (shown_attribute(attribute), name)
    return {'template': body, 'environment': {}, 'states': states}


def definition_of(probe):
    env = environment.Environment(probe.get('environment', {}))
    tmpl = template.Template(probe['template'], files=probe.get('files'), env=env)
    stack_id = identifier.HeatIdentifier('tenant', 'stack', 'id')
    stack = stk_defn.StackDefinition(None, tmpl, stack_id, {})
    stack._load_rsrc_defns()
    stack._load_output_defns()
    return stack


def refused_outcome(probe):
    return stack_outcome({'template': template_format.parse(probe['text'])})


def properties_outcome(probe):
    """Validates properties of a type, in a reading without translation."""
    schema = resources.global_env().get_class(probe['type']).properties_schema
    props = properties.Properties(schema, copy.deepcopy(probe['properties']), context=None, section='properties')
    outcome = {'validate': attempt(props.validate)}
    outcome['values'] = {name: attempt(lambda: props[name]) for name in sorted(schema)}
    return outcome


OUTCOMES = {
    'properties': properties_outcome,
    'refused': refused_outcome,
    'text': text_outcome,
    'python': python_outcome,
    'regex': regex_outcome,
    'format': format_outcome,
    'stack': stack_outcome,
    'environment': environment_outcome,
    'merge': merge_outcome,
    'immutable': immutable_outcome,
    'rules': rules.outcome,
}


def plain(value):
    """What JSON does not have, as Heat would write it into a row."""
    if isinstance(value, bytes):
        return value.decode('utf-8')
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    # A removed function resolves to itself, with unresolved calls inside.
    return {value.fn_name: value.args}


def answer(probe):
    if probe.get('kind') == 'file':
        try:
            probe = dict(made(probe), name=probe['name'])
        except Exception as error:
            # Not a stack: then it is the text that both sides refuse, or the template.
            probe = dict(probe, kind='refused')
    probe = expanded(probe)
    kind = probe.get('kind', 'stack')
    # The outcome is written at once: some values change when they are looked at again.
    outcome = attempt(lambda: json.loads(json.dumps(OUTCOMES[kind](probe), default=plain)))
    return {'probe': probe, 'outcome': outcome}


def catalogue(directory):
    """The probes of all files, those without a name named after file and number."""
    for path in sorted(pathlib.Path(directory).glob('*.json')):
        for number, probe in enumerate(json.loads(path.read_text()), 1):
            probe.setdefault('name', '%s %d' % (path.stem, number))
            yield path.stem, probe


if __name__ == '__main__':
    print(json.dumps([answer(probe) for _, probe in catalogue(sys.argv[1])]))
