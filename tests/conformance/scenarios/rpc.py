"""The engine's methods called directly: what the REST API rewrites or never asks for."""
import json
import threading

from oslo_config import cfg
import oslo_messaging
from oslo_messaging._drivers import common as driver

from heat.common import context
from heat.common import messaging

from agreed import BROKEN
from scenarios import resource, scenario, template, test_resource

cfg.CONF([], project='heat', default_config_files=[])
oslo_messaging.set_transport_defaults('heat')             # the exchange that the engines' queues are bound to
TRANSPORTS = {}
FAILURE = threading.local()
deserialize = driver.deserialize_remote_exception


def remember(data, allowed):
    """What the frame of a failure holds, before the client makes an exception of it."""
    FAILURE.frame = json.loads(data)
    return deserialize(data, allowed)


driver.deserialize_remote_exception = remember


def context_of(s, user):
    """As heat-api makes it of a request with that user's token."""
    access = s.tenant.sessions[user].auth.get_access(s.tenant.sessions[user])
    return context.RequestContext(
        auth_token=access.auth_token, user_id=access.user_id, username=access.username, project_id=access.project_id,
        project_name=access.project_name, user_domain_id='default', project_domain_id='default', roles=access.role_names,
        auth_url=s.tenant.url + '/', region_name='RegionOne', auth_token_info={'token': access._data['token']})


# Exceptions that nobody raised on purpose.
ACCIDENTS = ('AttributeError', 'KeyError', 'TypeError')


def is_accident(failure):
    return failure['module'] == 'builtins' and failure['class'] in ACCIDENTS or failure['module'].startswith(('sqlalchemy', 'oslo_db'))


def caller(s, user='member', timeout=20, accidents=True):
    """A function that calls a method and writes down the answer; without `accidents`, of those only that they happened."""
    if s.rig.name not in TRANSPORTS:
        TRANSPORTS[s.rig.name] = oslo_messaging.get_rpc_transport(cfg.CONF, url=s.rig.transport_url)
    # Not through heat's own helper, which keeps one transport for the whole process: there are two rigs in this one.
    target = oslo_messaging.Target(topic='engine', version='1.0')
    client = oslo_messaging.get_rpc_client(TRANSPORTS[s.rig.name], target, timeout=timeout, serializer=(
        messaging.RequestContextSerializer(oslo_messaging.JsonPayloadSerializer())))

    def call(method, version=None, label=None, **arguments):
        FAILURE.frame = None
        try:
            answer = client.prepare(version=version).call(context_of(s, user), method, **arguments)
        except oslo_messaging.MessagingTimeout:
            answer = 'no answer'
        except Exception as error:
            answer = FAILURE.frame or {'class': type(error).__name__, 'module': type(error).__module__, 'message': str(error)}
            answer.pop('tb', None)
            if is_accident(answer) and not accidents:
                answer = BROKEN
            elif 'kwargs' in answer:
                # The message is made of their texts.
                answer['kwargs'] = {key: str(value) for key, value in answer['kwargs'].items()}
        if isinstance(answer, dict) and isinstance(answer.get('attributes'), dict):
            answer['attributes'] = dict(sorted(answer['attributes'].items()))
        s.note(label or '%s(%s)' % (method, ', '.join(sorted(arguments))), answer)
        return answer
    return call


@scenario
def questions_without_a_stack(s):
    call = caller(s)
    call('get_revision')
    call('count_stacks')
    call('list_stacks')
    call('list_stacks', filters={}, limit=1, sort_keys=['name'])
    call('count_stacks', filters={'status': 'COMPLETE'}, show_nested=True)
    call('identify_stack', stack_name='nobody')
    call('list_events', stack_identity=None)
    call('show_stack', stack_identity=None)
    call('authenticated_to_backend')


@scenario
def the_language_is_told_of(s):
    call = caller(s)
    versions = call('list_template_versions')
    for version in versions if isinstance(versions, list) else ():
        for name in [version['version']] + version['aliases']:
            if name in ('heat_template_version.2017-02-24', 'heat_template_version.ocata'):
                continue                # reading.types_and_versions has changed the oracle's answer
            call('list_template_functions', template_version=name, label='functions of ' + name)
    for name in ('heat_template_version.1999-01-01', 'heat_template_version', '', None, 5):
        call('list_template_functions', template_version=name, label='functions of %r' % (name,))


@scenario
def questions_about_a_stack(s):
    call = caller(s)
    stack = s.create('asked', template({'r': test_resource(value='x')}, outputs={'o': {'value': {'get_attr': ['r', 'output']}}}))
    s.settle()
    identity = call('identify_stack', stack_name='asked')
    call('identify_stack', stack_name=stack.id)
    call('count_stacks')
    for method in ('show_stack', 'get_template', 'get_environment', 'get_files', 'list_outputs', 'list_stack_resources',
                   'describe_stack_resources', 'list_events'):
        arguments = {'resource_name': None} if method == 'describe_stack_resources' else {}
        call(method, stack_identity=identity, **arguments)
    call('show_stack', stack_identity=identity, resolve_outputs=False)
    call('show_stack', stack_identity=None)
    call('list_events', stack_identity=None)
    call('show_output', stack_identity=identity, output_key='o')
    call('show_output', stack_identity=identity, output_key='nobody')
    described = call('describe_stack_resource', stack_identity=identity, resource_name='r', with_attr=None)
    call('describe_stack_resource', stack_identity=identity, resource_name='nobody', with_attr=None)
    call('find_physical_resource', physical_resource_id=described['physical_resource_id'])
    call('find_physical_resource', physical_resource_id='nobody')
    call('describe_stack_resources', stack_identity=identity, resource_name='r')
    call('describe_stack_resources', stack_identity=identity, resource_name='nobody')


@scenario
def calls_that_cannot_be_served(s):
    call = caller(s)
    call('no_such_method')
    call('get_revision', surplus=1)
    call('identify_stack')
    call('get_revision', version='9.9')
    call('get_revision', version='1.36')
    call('get_revision', version='1.37')
    call('get_revision', version='0.9')
    call('show_stack', stack_identity={'nonsense': 1})
    call('show_stack', stack_identity=5)
    for reachable_by_accident in ('__init__', '_get_stack', 'target'):
        call(reachable_by_accident)


@scenario
def a_stack_lives_by_calls_alone(s):
    call = caller(s)
    shape = template({'r': test_resource(value={'get_param': 'p'})}, parameters={'p': {'type': 'string', 'default': 'x'}})
    identity = call('create_stack', stack_name='called', template=shape, params={}, files={}, args={})
    s.take(identity)
    s.settle()
    call('update_stack', stack_identity=identity, template=shape, params={'parameters': {'p': 'y'}}, files={}, args={'timeout_mins': 5})
    s.settle()
    call('show_stack', stack_identity=identity)
    call('preview_update_stack', stack_identity=identity, template=shape, params={'p': 'z'}, files={}, args={})
    # Parameters without a section of their own.
    call('update_stack', stack_identity=identity, template=None, params={'p': 'flat'}, files={}, args={'existing': True})
    s.settle()
    call('get_environment', stack_identity=identity)
    call('stack_cancel_update', stack_identity=identity)
    call('stack_cancel_update', stack_identity=identity, cancel_with_rollback=False)
    call('delete_stack', stack_identity=identity)
    s.settle()
    call('delete_stack', stack_identity=identity)
    call('show_stack', stack_identity=identity)
    call('get_template', stack_identity=identity)
    call('list_stack_resources', stack_identity=identity)


GOOD = template({'r': resource('OS::Heat::None')})


@scenario
def senseless_arguments_of_a_create(s):
    """Nothing that heat-api lets through: but other callers, and other releases of it, are on the bus."""
    call = caller(s, accidents=False)
    good = {'stack_name': 'senseless', 'template': GOOD, 'params': {}, 'files': {}, 'args': {}}
    for name, values in {
            'stack_name': (None, 5, '', ['x'], {}), 'template': (None, 5, 'text', [], {}), 'params': (None, [], 'x', 5),
            'files': (None, [], 'x', {'a': None}, {'a': []}), 'args': (None, [], 'x', 5),
            'environment_files': ('x', ['x'], 5, {}, [5])}.items():
        for number, value in enumerate(values):
            arguments = dict(good, stack_name='%s-%d' % (name, number)) | {name: value}
            s.take(call('create_stack', label='create_stack: %s = %r' % (name, value), **arguments))
    call('create_stack', label='create_stack: timeout beyond the column', **dict(good, args={'timeout_mins': 10 ** 12}))
    for name, values in {
            'timeout_mins': ('x', [], {}, True, -1, '5', '-5', 2.9, '2.9', 10 ** 12), 'disable_rollback': ('x', 1, 0, None, [], 'TRUE'),
            'tags': ('x', [1], ['a,b'], ['x' * 81], {}, 5, [[]], ['']), 'converge': ('x', None, 1), 'existing': ('x',),
            'clear_parameters': (5, 'x'), 'nonsense': (1,), 'show_nested': ('x',)}.items():
        for value in values:
            call('preview_stack', label='preview_stack: args.%s = %r' % (name, value), **dict(good, args={name: value}))
    s.settle()


@scenario
def senseless_arguments_of_an_update(s):
    call = caller(s, accidents=False)
    stack = s.create('sensible', GOOD)
    s.settle()
    identity = call('identify_stack', stack_name='sensible')
    good = {'stack_identity': identity, 'template': GOOD, 'params': {}, 'files': {}, 'args': {}}
    for name, values in {'template': (None, 5, 'text', []), 'params': (None, [], 'x'), 'files': (None, [], 'x'), 'args': (None, [], 'x'),
                         'environment_files': ('x', ['x'], 5)}.items():
        for value in values:
            call('preview_update_stack', label='preview_update_stack: %s = %r' % (name, value), **dict(good, **{name: value}))
    for arguments in ({'clear_parameters': 5}, {'clear_parameters': 'x'}, {'clear_parameters': [5]}, {'clear_parameters': [[]]}, {'tags': 'x'},
                      {'timeout_mins': -1}, {'disable_rollback': 'x'}):
        call('preview_update_stack', label='preview_update_stack: PATCH %r' % arguments,
             **dict(good, template=None, args=dict(arguments, existing=True)))
    s.settle()
    s.look(stack)


@scenario
def senseless_arguments_of_questions(s):
    call = caller(s, accidents=False)
    s.create('asked', template({'r': test_resource(value='x')}, outputs={'o': {'value': {'get_attr': ['r', 'output']}}}))
    s.settle()
    identity = call('identify_stack', stack_name='asked')
    for name in (None, 5, [], {}, '', '%', "'", 'a' * 300):
        call('identify_stack', stack_name=name, label='identify_stack: %r' % (name,))
    call('identify_stack', stack_name=identity['stack_id'].upper(), label='identify_stack in capitals')
    call('identify_stack', stack_name=identity['stack_id'].replace('-', ''), label='identify_stack without hyphens')
    for changed in ({'tenant': 'x'}, {'tenant': None}, {'stack_name': 'x'}, {'stack_id': 'x'}, {'path': '/resources/r'}, {'path': 'x'},
                    {'surplus': 1}, {'stack_name': None}, {'stack_id': None}, {'stack_name': 'a/b'}, {'stack_id': 'a/b'}, {'path': None}):
        call('show_stack', stack_identity=dict(identity, **changed), label='show_stack: %r' % changed)
    for name, values in {
            'limit': ('x', -1, 0, '1', [], 1.5), 'marker': ('nobody', 5, []), 'sort_keys': ('x', ['x'], 5, ['name', 'x'], 'name', {}),
            'sort_dir': ('x', 5, 'asc', 'desc'), 'filters': ([], 'x', 5, {'x': 1}, {'name': 'asked'}, {'name': ['asked', 'x']}, {'name': None},
                                                           {'status': {}}, {'id': 5}), 'tenant_safe': ('x', None, False),
            'tags': ('x', ['x'], 5), 'not_tags_any': (['x', 'y'], 5), 'show_deleted': ('x',)}.items():
        for value in values:
            call('list_stacks', label='list_stacks: %s = %r' % (name, value), **{name: value})
            if name in ('filters', 'tenant_safe', 'tags'):
                call('count_stacks', label='count_stacks: %s = %r' % (name, value), **{name: value})
    for name, values in {
            'limit': ('x', -1, 0, '1', []), 'marker': ('nobody', 5), 'sort_keys': ('x', ['x'], 5, ['created_at']), 'sort_dir': ('x', 5),
            'filters': ([], 'x', {'x': 1}, {'resource_name': 'r'}, {'resource_status': None}), 'nested_depth': ('x', 0, -1, None, 1.5)}.items():
        for value in values:
            call('list_events', stack_identity=identity, label='list_events: %s = %r' % (name, value), **{name: value})
    for name, values in {'nested_depth': ('x', -1, None, 3), 'with_detail': ('x', None), 'filters': ([], 'x', {'x': 1}, {'name': 'r'}, {
            'type': 'None'}, {'type': 5}, {'status': ['COMPLETE']}, {'name': None})}.items():
        for value in values:
            call('list_stack_resources', stack_identity=identity, label='list_stack_resources: %s = %r' % (name, value), **{name: value})
    for value in (None, 5, [], {}, ''):
        call('describe_stack_resource', stack_identity=identity, resource_name=value, label='describe_stack_resource: %r' % (value,))
        call('describe_stack_resources', stack_identity=identity, resource_name=value, label='describe_stack_resources: %r' % (value,))
        call('find_physical_resource', physical_resource_id=value, label='find_physical_resource: %r' % (value,))
        call('show_output', stack_identity=identity, output_key=value, label='show_output: %r' % (value,))
    for value in (['output'], ['x'], 5, {}, [5], []):
        call('describe_stack_resource', stack_identity=identity, resource_name='r', with_attr=value, label='with_attr: %r' % (value,))
    for name, values in {'template': (None, 5, 'text', [], {}), 'params': (None, [], 'x', {'p': 1}, {'parameters': {'p': 1}}),
                         'files': (None, [], {'a': 1}), 'environment_files': ('x', ['x']), 'show_nested': ('x', True),
                         'ignorable_errors': (['99001'], ['x'], 5)}.items():
        for value in values:
            call('validate_template', label='validate_template: %s = %r' % (name, value), **dict({'template': GOOD}, **{name: value}))


@scenario
def callers_of_other_projects_and_roles(s):
    call = caller(s)
    stack = s.create('mine', template({'r': test_resource()}))
    s.settle()
    identity = call('identify_stack', stack_name='mine')
    for who in ('admin', 'stranger', 'stack_user'):
        other = caller(s, who)
        other('identify_stack', stack_name='mine', label='identify_stack by %s' % who)
        other('identify_stack', stack_name=stack.id, label='identify_stack by id by %s' % who)
        for method, arguments in (
                ('show_stack', {}), ('get_template', {}), ('get_environment', {}), ('get_files', {}), ('list_outputs', {}),
                ('list_events', {}), ('list_stack_resources', {}), ('describe_stack_resource', {'resource_name': 'r'}),
                ('describe_stack_resources', {'resource_name': None}), ('stack_cancel_update', {}), ('show_output', {'output_key': 'x'}),
                ('preview_update_stack', {'template': GOOD, 'params': {}, 'files': {}, 'args': {}})):
            other(method, stack_identity=identity, label='%s by %s' % (method, who), **arguments)
        other('list_stacks', label='list_stacks by %s' % who)
        other('count_stacks', label='count_stacks by %s' % who)
        other('list_stacks', tenant_safe=False, label='list_stacks of all by %s' % who)
        other('find_physical_resource', physical_resource_id=stack.id, label='find_physical_resource by %s' % who)
    stranger = caller(s, 'stranger')
    for method, arguments in (('delete_stack', {}), ('update_stack', {'template': GOOD, 'params': {}, 'files': {}, 'args': {}})):
        stranger(method, stack_identity=identity, label='%s by a stranger' % method, **arguments)
    s.settle()
    s.look(stack)
