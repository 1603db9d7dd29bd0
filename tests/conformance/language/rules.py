"""What the oracle's types check beyond their schemas, without a cloud: whatever they ask is answered as they would like."""
import copy
import unittest.mock

from heat.common import context
from heat.engine import environment
from heat.engine import resource
from heat.engine import stack
from heat.engine import template
from heat.engine.clients.os import trove
from heat.engine.resources import stack_resource
from heat.engine.resources.openstack.nova import server

# What else a template has, for properties to refer to.
NEIGHBOURS = {
    'other': {'type': 'OS::Heat::TestResource'},
    'second': {'type': 'OS::Heat::TestResource'},
    'server': {'type': 'OS::Nova::Server', 'properties': {'flavor': 'f', 'image': 'i'}},
    'configured': {'type': 'OS::Nova::Server', 'properties': {'flavor': 'f', 'user_data_format': 'SOFTWARE_CONFIG'}},
}


class Plugin(unittest.mock.MagicMock):
    """A client that finds everything, and a cloud that can do anything."""

    def is_version_supported(self, version):
        return version != server.MICROVERSION_PERSONALITY_REMOVED

    def absolute_limits(self):
        return {'maxServerMeta': 1000, 'maxPersonality': 1000, 'maxPersonalitySize': 1000000}

    def validate_datastore(self, datastore_type, *others):
        if not datastore_type:
            trove.TroveClientPlugin.validate_datastore(self, datastore_type, *others)

    def find_resourceid_by_name_or_id(self, *arguments):
        return 'found'

    def network_id_from_subnet_id(self, subnet):
        return 'found'


def nothing(self, *arguments):
    return None


# What is made of members, and whether a server's image fits its flavour, is another matter.
stack_resource.StackResource.validate_nested_stack = nothing
server.Server._validate_image_flavor = nothing
resource.Resource._validate_service_availability = classmethod(nothing)
resource.Resource.client_plugin = lambda self, name=None: Plugin()
resource.Resource.client = lambda self, name=None, version=None: unittest.mock.MagicMock()


def template_of(probe):
    r = {'type': probe['type'], 'properties': copy.deepcopy(probe['properties'])}
    r.update((part, probe[part]) for part in ('depends_on', 'metadata') if part in probe)
    return {'heat_template_version': '2021-04-16', 'resources': dict(NEIGHBOURS, r=r)}


def outcome(probe):
    """What refuses the resource, if anything does; its schema has nothing against it."""
    body = template_of(probe)
    tenant = context.RequestContext(project_id='tenant', username='user', user_id='user')
    tmpl = template.Template(body, env=environment.Environment({}))
    made = stack.Stack(tenant, 'stack', tmpl, stack_id=None, convergence=True)
    made._update_all_resource_data(for_resources=True, for_outputs=False)
    checked = made['r']
    try:
        checked.validate_template()
    except Exception as error:
        return {'refused': True, 'schema': str(error)}
    try:
        result = checked.validate()
    except Exception as error:
        return {'refused': True, 'by': [type(error).__name__, str(getattr(error, 'error_message', error))]}
    return {'refused': bool(result), 'by': result and ['StackValidationFailed', str(result)]}
