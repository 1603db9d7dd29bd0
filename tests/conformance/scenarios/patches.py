"""Updates of the PATCH kind, previews, and validation."""
import json

import yaml

from scenarios import resource, scenario, template, test_resource

PARAMETERS = {'a': {'type': 'string', 'default': 'a0'}, 'b': {'type': 'string', 'default': 'b0'},
              'n': {'type': 'number', 'default': 1}}
SHAPE = template({'ra': test_resource(value={'get_param': 'a'}), 'rb': test_resource('ra', value={'get_param': 'b'})},
                 parameters=PARAMETERS, outputs={'a': {'value': {'get_param': 'a'}}})


@scenario(mixed=True)
def patch_keeps_what_is_not_named(s):
    stack = s.create('patched', SHAPE, {'a': 'a1', 'b': 'b1'}, tags='t1,t2', timeout_mins=42, disable_rollback=False)
    s.settle()
    s.update(stack, parameters={'a': 'a2'}, method='PATCH')
    s.settle()
    s.look(stack)
    s.update(stack, method='PATCH', clear_parameters=['b'], tags='t3')
    s.settle()
    s.look(stack)
    s.update(stack, method='PATCH', timeout_mins=7, disable_rollback=True)
    s.settle()
    s.look(stack)
    s.update(stack, template({'rc': test_resource(value={'get_param': 'a'})}, parameters={'a': PARAMETERS['a']}), method='PATCH')
    s.settle()
    s.look(stack)


@scenario
def patches_without_tags_and_with_empty_ones(s):
    stack = s.create('tagged', SHAPE, {'a': 'a1', 'b': 'b1'}, tags='t1,t2',
                     environment={'resource_registry': {'My::None': 'OS::Heat::None'}})
    s.settle()
    for fields in ({}, {'tags': None}, {'tags': ''}, {'tags': 't3'}, {'tags': []}):
        s.update(stack, method='PATCH', **fields)
        s.settle()
        s.look(stack)
    s.update(stack, SHAPE)
    s.settle()
    s.look(stack)


@scenario
def put_forgets_what_is_not_named(s):
    stack = s.create('put', SHAPE, {'a': 'a1', 'b': 'b1'}, tags='t1', timeout_mins=42)
    s.settle()
    s.update(stack, SHAPE, {'a': 'a2'})
    s.settle()
    s.look(stack)


@scenario
def patches_that_are_refused(s):
    stack = s.create('patched', SHAPE)
    s.settle()
    for method, arguments in (
            ('PATCH', {'parameters': {'nobody': 1}}), ('PATCH', {'parameters': {'n': 'x'}}),
            ('PATCH', {'clear_parameters': ['nobody']}), ('PUT', {}),
            ('PATCH', {'timeout_mins': 'x'}), ('PATCH', {})):
        s.update(stack, method=method, **arguments)
        s.settle()
    s.look(stack)


def with_environment(s, name, environment, resources):
    stack = s.create(name, template(resources, parameters=PARAMETERS), environment=environment)
    s.settle()
    s.look(stack)
    s.update(stack, parameters={'b': 'patched'}, method='PATCH', environment={'parameter_defaults': {'n': 5}})
    s.settle()
    s.look(stack)


@scenario
def environment_maps_types(s):
    with_environment(s, 'mapped', {
        'parameters': {'a': 'from environment'}, 'parameter_defaults': {'b': 'default', 'unused': 1},
        'resource_registry': {'My::Test': 'OS::Heat::TestResource', 'resources': {'special': {'My::Other': 'OS::Heat::RandomString'}}},
    }, {'mine': resource('My::Test', value={'get_param': 'a'}), 'special': resource('My::Other')})


@scenario
def environment_maps_types_by_pattern(s):
    with_environment(s, 'patterns', {'resource_registry': {'My::N*': 'OS::Heat::N*'}},
                     {'nothing': resource('My::None'), 'test': test_resource('nothing', value={'get_param': 'b'})})


def with_environment_files(s, name, write):
    files = {'one.yaml': write({'parameters': {'a': 'one', 'b': 'one'}, 'parameter_defaults': {'n': 3}}),
             'two.yaml': write({'parameters': {'b': 'two'}}), 'note.txt': 'a note\n'}
    shape = template({'r': test_resource(value={'get_file': 'note.txt'})}, parameters=PARAMETERS)
    stack = s.create(name, shape, files=files, environment_files=['one.yaml', 'two.yaml'])
    if stack:
        s.settle()
        s.look(stack)


@scenario
def environment_files_are_merged(s):
    """JSON, as the client sends them."""
    with_environment_files(s, 'files', json.dumps)


@scenario
def environment_files_in_yaml(s):
    with_environment_files(s, 'yaml', yaml.safe_dump)


@scenario
def previews(s):
    s.request('POST', '/stacks/preview', {'stack_name': 'seen', 'template': SHAPE, 'parameters': {'a': 'x'}, 'tags': 'a'})
    s.request('POST', '/stacks/preview', {'stack_name': 'seen', 'template': template({'r': resource('OS::No::Such')})})
    stack = s.create('previewed', SHAPE)
    s.settle()
    changed = template({'ra': test_resource(value='new'), 'rb': test_resource(update_replace_value='x'), 'rc': test_resource('ra')})
    for method in ('PUT', 'PATCH'):
        s.request(method, stack.path + '/preview', {'template': changed})
        s.request(method, stack.path + '/preview', {'template': SHAPE, 'parameters': {'a': 'other'}})
    s.request('PATCH', stack.path + '/preview', {'parameters': {'b': 'other'}})
    s.request('PUT', stack.path + '/preview', {'template': template({'r': resource('OS::No::Such')})})
    s.request('PUT', stack.path + '/preview?show_nested=True', {'template': changed})
    s.settle()
    s.look(stack)


@scenario
def validation(s):
    s.request('POST', '/validate', {'template': SHAPE})
    s.request('POST', '/validate', {'template': SHAPE, 'environment': {'parameters': {'a': 'x'}, 'parameter_defaults': {'b': 'y'}}})
    s.request('POST', '/validate?ignore_errors=99001', {'template': SHAPE})
    s.request('POST', '/validate?show_nested=True', {'template': SHAPE})
    s.request('POST', '/validate?ignore_errors=x', {'template': SHAPE})
    everything = {'s': {'type': 'string', 'label': 'L', 'description': 'd', 'hidden': True, 'default': 'abc', 'constraints': [
        {'length': {'min': 1, 'max': 5}, 'description': 'length'}, {'allowed_pattern': '[a-c]+'}]},
        'n': {'type': 'number', 'constraints': [{'range': {'min': 1, 'max': 10}}, {'modulo': {'step': 2, 'offset': 1}}]},
        'c': {'type': 'string', 'default': 'a', 'immutable': True, 'constraints': [{'allowed_values': ['a', 'b']}], 'tags': ['x']},
        'l': {'type': 'comma_delimited_list', 'default': ['x', 'y']}, 'j': {'type': 'json', 'default': {'k': [1]}},
        'b': {'type': 'boolean', 'default': 'yes'},
        'p': {'type': 'string', 'default': 'x', 'constraints': [{'custom_constraint': 'keystone.project'}]}}
    s.request('POST', '/validate', {'template': template({}, parameters=everything, description='all kinds', parameter_groups=[
        {'label': 'g', 'description': 'gd', 'parameters': ['s', 'n']}])})


@scenario
def parameters_of_all_types(s):
    parameters = {'s': {'type': 'string'}, 'n': {'type': 'number'}, 'l': {'type': 'comma_delimited_list'}, 'j': {'type': 'json'},
                  'b': {'type': 'boolean'}, 'h': {'type': 'string', 'hidden': True}}
    shape = template({'v' + name: resource('OS::Heat::Value', value={'get_param': name}) for name in parameters}, parameters=parameters,
                     outputs=dict({name: {'value': {'get_param': name}} for name in parameters},
                                  item={'value': {'get_param': ['l', 1]}}, deep={'value': {'get_param': ['j', 'k', 0]}},
                                  pseudo={'value': [{'get_param': 'OS::stack_name'}, {'get_param': 'OS::stack_id'},
                                                    {'get_param': 'OS::project_id'}]}))
    for number, values in enumerate((
            {'s': 'x', 'n': 5, 'l': 'a,b', 'j': {'k': [1, 2]}, 'b': True, 'h': 'secret'},
            {'s': 'x', 'n': '5.50', 'l': ['a', 'b'], 'j': '{"k": ["z"], "a": 1.0}', 'b': 'off', 'h': 'secret'})):
        stack = s.create('kinds%d' % number, shape, values)
        if stack:
            s.settle()
            s.look(stack)


@scenario
def conditions_and_functions(s):
    def shape(flag):
        return template(
            {'always': test_resource(value={'if': ['on', 'yes', 'no']}), 'maybe': dict(test_resource('always'), condition='on'),
             'other': dict(test_resource(), condition={'not': 'on'}),
             'text': resource('OS::Heat::Value', value={'str_replace': {'template': '$a-$b-{c}', 'params': {
                 '$a': 1, '$b': [1, 'x', {'k': None}], '{c}': {'get_param': 'flag'}}}}),
             'joined': resource('OS::Heat::Value', value={'list_join': ['+', ['a', 'b'], [{'get_param': 'flag'}, '1']]})},
            parameters={'flag': {'type': 'string', 'default': flag}},
            conditions={'on': {'equals': [{'get_param': 'flag'}, 'x']}, 'both': {'and': ['on', {'or': ['on', False]}]}},
            outputs={'text': {'value': {'get_attr': ['text', 'value']}}, 'joined': {'value': {'get_attr': ['joined', 'value']}},
                     'hidden': {'value': 'shown', 'condition': 'both'}})
    stack = s.create('conditions', shape('x'))
    s.settle()
    s.look(stack)
    s.update(stack, shape('y'))
    s.settle()
    s.look(stack)


@scenario
def an_output_asks_for_what_another_attribute_names(s):
    """What it asks through is asked for nowhere else."""
    stack = s.create('through', template(
        {'tree': resource('OS::Heat::Value', value={'leaf': 'found'}), 'name': resource('OS::Heat::Value', value='leaf')},
        outputs={'o': {'value': {'get_attr': ['tree', 'value', {'get_attr': ['name', 'value']}]}}}))
    s.settle()
    s.look(stack)
