"""Requests that are refused: the status and the text must be those that clients know."""
from scenarios import resource, scenario, template, test_resource

GOOD = template({'r': test_resource()})

BAD_TEMPLATES = {
    'no_version': {'resources': {}},
    'unknown_version': {'heat_template_version': '1999-01-01', 'resources': {}},
    'date_version_not_text': {'heat_template_version': 20130523, 'resources': {}},
    'unknown_section': dict(GOOD, nonsense={}),
    'empty': {},
    'list': [],
    'text': 'just text',
    'broken_yaml': 'heat_template_version: 2021-04-16\nresources: [',
    'yaml_tab': 'heat_template_version: 2021-04-16\nresources:\n\t- x',
    'yaml_alias_unknown': 'heat_template_version: 2021-04-16\nresources: *nobody',
    'resources_a_list': {'heat_template_version': '2021-04-16', 'resources': []},
    'resource_a_text': template({'r': 'OS::Heat::None'}),
    'resource_without_type': template({'r': {'properties': {}}}),
    'resource_type_a_list': template({'r': {'type': []}}),
    'resource_unknown_key': template({'r': {'type': 'OS::Heat::None', 'colour': 'red'}}),
    'unknown_type': template({'r': resource('OS::No::Such')}),
    'unknown_property': template({'r': test_resource(colour='red')}),
    'property_of_wrong_type': template({'r': test_resource(wait_secs='soon')}),
    'property_map_of_wrong_type': template({'r': test_resource(action_wait_secs=['create'])}),
    'property_unknown_in_map': template({'r': test_resource(action_wait_secs={'creation': 1})}),
    'required_property_missing': template({'r': resource('OS::Heat::Delay', actions='CREATE')}),
    'property_out_of_range': template({'r': resource('OS::Heat::RandomString', length=0)}),
    'property_not_allowed': template({'r': resource('OS::Heat::RandomString', character_classes=[{'class': 'runes'}])}),
    'value_without_value': template({'r': resource('OS::Heat::Value')}),
    'properties_a_list': template({'r': {'type': 'OS::Heat::None', 'properties': ['x']}}),
    'depends_on_unknown': template({'r': test_resource('nobody')}),
    'depends_on_itself': template({'r': test_resource('r')}),
    'circle': template({'a': test_resource('b'), 'b': test_resource('c'), 'c': test_resource('a')}),
    'get_resource_unknown': template({'r': test_resource(value={'get_resource': 'nobody'})}),
    'get_attr_unknown_resource': template({'r': test_resource(value={'get_attr': ['nobody', 'output']})}),
    'get_attr_unknown_attribute': template({'a': test_resource(), 'r': test_resource(value={'get_attr': ['a', 'colour']})}),
    'get_attr_wrong_arguments': template({'a': test_resource(), 'r': test_resource(value={'get_attr': 'a'})}),
    'get_param_unknown': template({'r': test_resource(value={'get_param': 'nobody'})}),
    'get_param_wrong_arguments': template({'r': test_resource(value={'get_param': []})}),
    'unknown_function': template({'r': test_resource(value={'get_weather': 'here'})}),
    'two_functions': template({'r': test_resource(value={'get_param': 'x', 'get_resource': 'r'})}),
    'str_replace_arguments': template({'r': test_resource(value={'str_replace': ['x']})}),
    'str_replace_no_params': template({'r': test_resource(value={'str_replace': {'template': 'x'}})}),
    'list_join_arguments': template({'r': test_resource(value={'list_join': [',']})}),
    'list_join_not_a_list': template({'r': test_resource(value={'list_join': [',', 'abc']})}),
    'yaql_arguments': template({'r': test_resource(value={'yaql': '$.data'})}),
    'yaql_unknown_key': template({'r': test_resource(value={'yaql': {'expression': '$.data', 'date': 1}})}),
    'yaql_expression_a_list': template({'r': test_resource(value={'yaql': {'expression': ['$.data']}})}),
    'yaql_unreadable_expression': template({'r': test_resource(value={'yaql': {'expression': '$.data.('}})}),
    'yaql_illegal_character': template({'r': test_resource(value={'yaql': {'expression': '$.data # 1'}})}),
    'condition_unknown': template({'r': dict(test_resource(), condition='nobody')}),
    'condition_circle': template({'r': test_resource()}, conditions={'a': 'b', 'b': 'a'}),
    'condition_not_boolean': template({'r': test_resource()}, conditions={'a': 'maybe so'}),
    'if_arguments': template({'r': test_resource(value={'if': ['a', 'b']})}, conditions={'a': True}),
    'if_unknown_condition': template({'r': test_resource(value={'if': ['nobody', 'b', 'c']})}),
    'output_without_value': template({}, outputs={'o': {'description': 'x'}}),
    'output_unknown_resource': template({}, outputs={'o': {'value': {'get_attr': ['nobody', 'x']}}}),
    'output_unknown_attribute': template({'r': test_resource()}, outputs={'o': {'value': {'get_attr': ['r', 'x']}}}),
    'output_a_text': template({}, outputs={'o': 'x'}),
    'outputs_a_list': template({}, outputs=[]),
    'parameter_without_type': template({}, parameters={'p': {'default': 1}}),
    'parameter_unknown_type': template({}, parameters={'p': {'type': 'rope'}}),
    'parameter_unknown_key': template({}, parameters={'p': {'type': 'string', 'colour': 'red'}}),
    'parameter_a_text': template({}, parameters={'p': 'string'}),
    'parameter_bad_default': template({}, parameters={'p': {'type': 'number', 'default': 'x'}}),
    'parameter_default_breaks_constraint': template({}, parameters={'p': {
        'type': 'number', 'default': 1, 'constraints': [{'range': {'min': 2}}]}}),
    'parameter_constraint_of_other_type': template({}, parameters={'p': {
        'type': 'string', 'constraints': [{'range': {'min': 2}}]}}),
    'parameter_unknown_constraint': template({}, parameters={'p': {'type': 'string', 'constraints': [{'colour': 'red'}]}}),
    'parameter_constraints_a_map': template({}, parameters={'p': {'type': 'string', 'constraints': {'length': {'min': 1}}}}),
    'parameter_custom_constraint_unknown': template({}, parameters={'p': {
        'type': 'string', 'default': 'x', 'constraints': [{'custom_constraint': 'no.such'}]}}),
    'parameter_group_unknown_parameter': template({}, parameter_groups=[{'parameters': ['nobody']}]),
    'duplicate_names': template({'p': test_resource()}, parameters={'p': {'type': 'string', 'default': 'x'}}),
    'name_with_slash': template({'a/b': test_resource()}),
    'deletion_policy_unknown': template({'r': dict(test_resource(), deletion_policy='explode')}),
    'update_policy_a_list': template({'r': dict(test_resource(), update_policy=[])}),
}

PARAMETERS = {
    'text': {'type': 'string', 'constraints': [{'length': {'min': 2, 'max': 4}, 'description': 'two to four letters'},
                                               {'allowed_pattern': '[a-z]+'}]},
    'number': {'type': 'number', 'default': 4, 'constraints': [{'range': {'min': 1, 'max': 9}},
                                                              {'modulo': {'step': 2, 'offset': 0}}]},
    'choice': {'type': 'string', 'default': 'a', 'constraints': [{'allowed_values': ['a', 'b']}]},
    'list': {'type': 'comma_delimited_list', 'default': 'x,y', 'constraints': [{'length': {'max': 3}}]},
    'map': {'type': 'json', 'default': {}},
    'flag': {'type': 'boolean', 'default': False},
    'project': {'type': 'string', 'default': '', 'constraints': [{'custom_constraint': 'keystone.project'}]},
    'network': {'type': 'string', 'default': '10.0.0.0/8', 'constraints': [{'custom_constraint': 'net_cidr'}]},
}
BAD_PARAMETERS = (
    {}, {'text': 'x'}, {'text': 'abcde'}, {'text': 'ABC'}, {'text': 'ab', 'number': 'four'}, {'text': 'ab', 'number': 10},
    {'text': 'ab', 'number': 3}, {'text': 'ab', 'choice': 'c'}, {'text': 'ab', 'list': 'a,b,c,d'}, {'text': 'ab', 'map': '{'},
    {'text': 'ab', 'map': '[1'}, {'text': 'ab', 'flag': 'perhaps'}, {'text': 'ab', 'nobody': 'x'}, {'text': ['a']},
    {'text': None}, {'text': 'ab', 'project': 'no such project'}, {'text': 'ab', 'network': '10.0.0.0/40'},
    {'text': 'ab', 'network': '10.0.0.0'},
)


@scenario
def bad_templates_are_refused(s):
    for name, bad in BAD_TEMPLATES.items():
        s.create('bad-' + name, bad, label='create: ' + name)
    s.settle()


@scenario
def bad_templates_are_not_valid(s):
    for name, bad in BAD_TEMPLATES.items():
        s.request('POST', '/validate', {'template': bad}, label='validate: ' + name)


@scenario
def bad_parameters_are_refused(s):
    for number, parameters in enumerate(BAD_PARAMETERS):
        s.create('bad%d' % number, template({'r': test_resource()}, parameters=PARAMETERS), parameters, label='parameters %d' % number)
    s.settle()


@scenario
def bad_environments_are_refused(s):
    environments = {
        'unknown_section': {'colours': {}}, 'parameters_a_list': {'parameters': []}, 'text': 'parameters: [', 'list': '- a',
        'registry_unknown_type': {'resource_registry': {'My::R': 'OS::No::Such'}},
        'registry_circle': {'resource_registry': {'My::R': 'My::R'}},
        'registry_a_list': {'resource_registry': []},
        'registry_file_missing': {'resource_registry': {'My::R': 'missing.yaml'}},
        'parameter_unknown': {'parameters': {'nobody': 1}}, 'defaults_unknown': {'parameter_defaults': {'nobody': 1}},
        'encrypted_names_a_text': {'encrypted_param_names': 'x'}, 'event_sinks_bad': {'event_sinks': [{'type': 'no'}]},
    }
    for name, environment in environments.items():
        s.create('env-' + name, template({'r': resource('My::R')}), environment=environment, label='environment: ' + name)
    s.settle()


@scenario
def bad_stack_names_and_arguments_are_refused(s):
    for name in ('', '1abc', 'a b', 'a' * 256, '-a', 'a/b', None, 5, ['a']):
        s.request('POST', '/stacks', {'stack_name': name, 'template': GOOD}, label='name %r' % (name,))
    for field, values in {'timeout_mins': ('soon', -1, 0, 10 ** 9, None, 1.5), 'disable_rollback': ('perhaps', 5, None),
                          'tags': ('a,,b', 'x' * 81, ['a'], {'a': 1}, ''), 'files': ([], {'a': 1}), 'parameters': ([], 'x'),
                          'environment': ([], 5), 'template': (None, 5)}.items():
        for number, value in enumerate(values):
            s.create('args-%s-%d' % (field, number), **dict({'template': GOOD}, **{field: value}), label='%s = %.40r' % (field, value))
    s.settle()
    s.request('POST', '/stacks', {'stack_name': 'none'}, label='no template')
    s.request('POST', '/stacks', {}, label='nothing')


@scenario
def duplicate_names_and_unknown_stacks(s):
    stack = s.create('twin', GOOD)
    s.settle()
    s.create('twin', GOOD)
    missing = '/stacks/nobody/01234567-89ab-cdef-0123-456789abcdef'
    for method, path, body in (
            ('GET', missing, None), ('GET', '/stacks/nobody', None), ('GET', '/stacks/twin/' + missing.rsplit('/', 1)[1], None),
            ('GET', missing + '/resources', None), ('GET', missing + '/events', None), ('GET', missing + '/template', None),
            ('GET', missing + '/outputs', None), ('GET', missing + '/outputs/x', None), ('GET', missing + '/environment', None),
            ('GET', missing + '/files', None), ('PUT', missing, {'template': GOOD}), ('PATCH', missing, {'template': GOOD}),
            ('DELETE', missing, None), ('DELETE', '/stacks/nobody', None), ('POST', missing + '/actions', {'cancel_update': None}),
            ('GET', stack.path + '/resources/nobody', None), ('GET', stack.path + '/outputs/nobody', None),
            ('GET', stack.path + '/resources/nobody/events', None), ('GET', stack.path + '/resources/r/metadata', None),
            ('GET', stack.path + '/resources/r/events/01234567-89ab-cdef-0123-456789abcdef', None)):
        s.request(method, path, body)


@scenario
def too_many_resources(s):
    """main.OPTIONS sets the limit; scenarios.settings has other limits."""
    many = template({'r%d' % number: resource('OS::Heat::None') for number in range(251)})
    s.create('many-resources', many)
    stack = s.create('few-resources', template({'r': test_resource(value='x')}))
    s.settle()
    s.update(stack, many)
    s.update(stack, many, method='PATCH')
    for method, path in (('POST', '/stacks/preview'), ('PUT', stack.path + '/preview'), ('POST', '/validate')):
        s.request(method, path, {'template': many, 'stack_name': 'preview'})
    s.settle()
    s.look(stack)
