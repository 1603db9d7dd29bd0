"""Resources of a real service: Keystone's projects and users. An admin's stacks."""
from scenarios import resource, scenario, template


def project(name, **properties):
    return resource('OS::Keystone::Project', name=name, **properties)


@scenario
def project_and_user(s):
    s.user = 'admin'
    project_name, user_name = s.unique('project'), s.unique('user')

    def shape(description, **user):
        return template({
            'project': project(project_name, description=description, tags=['x', 'y']),
            'user': resource('OS::Keystone::User', name=user_name, default_project={'get_resource': 'project'}, **user)},
            outputs={'name': {'value': {'get_attr': ['project', 'name']}}, 'domain': {'value': {'get_attr': ['project', 'domain_id']}},
                     'enabled': {'value': {'get_attr': ['project', 'enabled']}}, 'parent': {'value': {'get_attr': ['project', 'parent_id']}},
                     'user': {'value': {'get_attr': ['user', 'name']}}, 'default': {'value': {'get_attr': ['user', 'default_project_id']}},
                     'expires': {'value': {'get_attr': ['user', 'password_expires_at']}}, 'all': {'value': {'get_attr': ['user', 'show']}}})
    stack = s.create('identity', shape('first', email='a@example.org', password='secret'))
    s.settle()
    s.look(stack)
    s.update(stack, shape('second', email='b@example.org', password='other', enabled=False))
    s.settle()
    s.look(stack)
    # No delete: the oracle fails to delete a project where there is no Neutron, as in the lab; ours does not.


@scenario
def user_lives_and_dies(s):
    s.user = 'admin'
    stack = s.create('users', template({
        'named': resource('OS::Keystone::User', name=s.unique('named'), domain='default', roles=[
            {'role': 'reader', 'project': s.tenant.name}, {'role': 'reader', 'domain': 'Default'}]),
        'unnamed': resource('OS::Keystone::User', 'named', description='without a name', default_project=s.tenant.name)}))
    s.settle()
    s.look(stack)
    s.update(stack, template({
        'named': resource('OS::Keystone::User', name=s.unique('renamed'), roles=[{'role': 'member', 'project': s.tenant.name}])}))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()
    s.get(stack.path)


@scenario
def only_the_domain_of_a_user_changes(s):
    s.user = 'admin'
    name = s.unique('moves')
    stack = s.create('moves', template({'u': resource('OS::Keystone::User', name=name, domain='Default')}))
    s.settle()
    for domain in ('heat', 'Default'):
        s.update(stack, template({'u': resource('OS::Keystone::User', name=name, domain=domain)}))
        s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario
def names_that_keystone_does_not_know(s):
    s.user = 'admin'
    for number, properties in enumerate(({'domain': 'nobody'}, {'parent': 'nobody'}, {'domain': ''}, {'tags': 'not a list'})):
        s.create('unknown%d' % number, template({'p': project(s.unique('unknown'), **properties)}))
    for number, properties in enumerate(({'default_project': 'nobody'}, {'groups': ['nobody']}, {'roles': [{'role': 'nobody', 'project': 'x'}]},
                                         {'roles': [{'role': 'member'}]}, {'roles': [{'role': 'member', 'project': 'x', 'domain': 'y'}]},
                                         {'roles': [{'role': 'member', 'project': s.tenant.name, 'domain': 'Default'}]})):
        s.create('unknown-user%d' % number, template({'u': resource('OS::Keystone::User', name=s.unique('unknown'), **properties)}))


@scenario
def keystone_refuses(s):
    s.user = 'admin'
    name = s.unique('taken')
    first = s.create('taken', template({'u': resource('OS::Keystone::User', name=name)}))
    s.settle()
    second = s.create('taken-again', template({'u': resource('OS::Keystone::User', name=name)}))
    s.settle()
    s.look(second)
    s.user = 'member'
    third = s.create('not-allowed', template({'u': resource('OS::Keystone::User', name=name + '2')}))
    if third:
        s.settle()
        s.look(third)
    s.user = 'admin'
    s.delete(first)
    s.settle()


@scenario
def user_that_is_gone_already(s):
    s.user = 'admin'
    stack = s.create('gone', template({'u': resource('OS::Keystone::User', name=s.unique('gone'))}))
    s.settle()
    user_id = s.get(stack.path + '/resources/u', quiet=True)['resource']['physical_resource_id']
    s.tenant.admin.delete('%s/users/%s' % (s.tenant.url, user_id))
    s.get(stack.path + '/resources/u')
    s.delete(stack)
    s.settle()
    s.get(stack.path)


@scenario(mixed=True)
def user_changes_groups_and_roles(s):
    s.user = 'admin'
    groups = [s.make('group', s.unique('group'), domain_id='default') for _ in range(2)]
    name = s.unique('joins')

    def shape(**properties):
        return template({'u': resource('OS::Keystone::User', name=name, **properties)},
                        outputs={'groups': {'value': {'get_attr': ['u', 'show']}}})
    here = {'role': 'member', 'project': s.tenant.project_id}
    stack = s.create('joins', shape(groups=[groups[0]], roles=[here]))
    s.settle()
    for properties in ({'groups': groups, 'roles': [here, {'role': 'reader', 'project': s.tenant.name}]}, {'groups': [groups[1]], 'roles': []},
                       {'description': 'alone', 'enabled': False}, {'domain': 'Default', 'email': 'x@example.org'}):
        s.update(stack, shape(**properties))
        s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario
def project_changes(s):
    s.user = 'admin'
    name, parent = s.unique('changes'), s.make('project', s.unique('parent'), domain_id='default')
    stack = s.create('changes', template({'p': project(name)}))
    s.settle()
    for properties in ({'description': 'described', 'tags': ['a']}, {'tags': ['a', 'b'], 'enabled': False}, {'domain': 'Default'}, {'parent': parent}):
        s.update(stack, template({'p': project(name, **properties)}))
        s.settle()
    s.look(stack)
    # No delete: the oracle fails to delete a project where there is no Neutron, as in the lab; ours does not.
