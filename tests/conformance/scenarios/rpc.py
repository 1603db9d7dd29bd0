"""The engine's methods called directly: what the REST API rewrites or never asks for."""
from oslo_config import cfg
import oslo_messaging

from heat.common import context
from heat.common import messaging


from scenarios import scenario, template, test_resource

cfg.CONF([], project='heat', default_config_files=[])
TRANSPORTS = {}


def caller(s):
    if s.rig.name not in TRANSPORTS:
        TRANSPORTS[s.rig.name] = oslo_messaging.get_rpc_transport(cfg.CONF, url=s.rig.transport_url)
    messaging.TRANSPORT = TRANSPORTS[s.rig.name]
    # Not through heat's own helper, which keeps one transport for the whole process: there are two rigs in this one.
    target = oslo_messaging.Target(topic='engine', version='1.0')
    client = oslo_messaging.get_rpc_client(TRANSPORTS[s.rig.name], target, serializer=messaging.RequestContextSerializer(
        messaging.JsonPayloadSerializer()), timeout=60)
    request = context.RequestContext(auth_token=s.tenant.token(), project_id=s.tenant.project_id, user_id=s.tenant.user_ids['member'],
                                     username=s.tenant.name + '-member', roles=['member', 'heat_stack_owner'],
                                     auth_url=s.tenant.url, is_admin=False)

    def call(method, version=None, **arguments):
        try:
            answer = client.prepare(version=version).call(request, method, **arguments)
        except oslo_messaging.RemoteError as error:
            answer = {'remote error': error.exc_type, 'message': error.value}
        except Exception as error:
            answer = {'error': type(error).__name__, 'message': str(error)}
        s.note('%s(%s)' % (method, ', '.join(sorted(arguments))), answer)
        return answer
    return call


@scenario
def questions_without_a_stack(s):
    call = caller(s)
    call('get_revision')
    call('authenticated_to_backend')
    call('count_stacks')
    call('list_stacks')
    call('list_stacks', filters={}, limit=1, sort_keys=['name'])
    call('count_stacks', filters={'status': 'COMPLETE'}, show_nested=True)
    call('list_template_versions')
    call('list_template_functions', template_version='heat_template_version.2021-04-16')
    call('identify_stack', stack_name='nobody')


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
    call('show_output', stack_identity=identity, output_key='o')
    call('show_output', stack_identity=identity, output_key='nobody')
    described = call('describe_stack_resource', stack_identity=identity, resource_name='r', with_attr=None)
    call('find_physical_resource', physical_resource_id=described['physical_resource_id'])
    call('find_physical_resource', physical_resource_id='nobody')
    call('describe_stack_resources', stack_identity=identity, resource_name='r')


@scenario
def calls_that_cannot_be_served(s):
    call = caller(s)
    call('no_such_method')
    call('get_revision', surplus=1)
    call('identify_stack')
    call('get_revision', version='9.9')
    call('show_stack', stack_identity={'nonsense': 1})
    call('show_stack', stack_identity=5)
    for reachable_by_accident in ('__init__', '_get_stack', 'target'):
        call(reachable_by_accident)
