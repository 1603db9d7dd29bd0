"""Lists, counts, filters, and the services' own questions."""
from scenarios import resource, scenario, template, test_resource


@scenario
def lists_are_filtered_sorted_and_paged(s):
    one = template({'r': test_resource()})
    for name, tags in (('alpha', 'a'), ('beta', 'a,b'), ('gamma', 'hide_me'), ('delta', '')):
        s.create(name, one, tags=tags or None)
        s.settle()
    failed = s.create('epsilon', template({'r': test_resource(fail=True)}))
    s.settle()
    for query in (
            'name=alpha', 'name=alpha&name=beta', 'status=FAILED', 'status=COMPLETE&action=CREATE', 'action=UPDATE', 'id=none',
            'stack_status=CREATE_COMPLETE', 'tags=a', 'tags=a,b', 'tags_any=a,b', 'not_tags=a', 'not_tags_any=a,b', 'show_hidden=True',
            'show_hidden=perhaps', 'limit=2&sort_keys=name', 'limit=0', 'limit=-1', 'limit=x', 'sort_keys=stack_name&sort_dir=desc',
            'sort_keys=creation_time', 'sort_keys=nonsense', 'sort_dir=sideways', 'with_count=True', 'with_count=True&limit=1',
            'with_count=perhaps', 'show_nested=True', 'show_deleted=True', 'username=nobody', 'global_tenant=True', 'nonsense=1',
            'tenant=x', 'marker=nobody', 'owner_id=x'):
        s.get('/stacks?' + query)
    s.get('/stacks?global_tenant=True', user='admin', quiet=True)
    marker = s.get('/stacks?sort_keys=name&limit=1', quiet=True)['stacks'][0]['id']
    s.get('/stacks?sort_keys=name&marker=' + marker)
    s.get('/stacks/detail')
    s.get('/stacks/detail?tags=a')
    s.delete(failed)
    s.settle()
    s.get('/stacks?show_deleted=True&sort_keys=name')
    s.get('/stacks?show_deleted=True&status=COMPLETE&with_count=True')


@scenario
def stacks_are_found_by_name_and_id(s):
    stack = s.create('found', template({'r': test_resource()}, outputs={'o': {'value': {'get_attr': ['r', 'output']}}}))
    s.settle()
    for path in ('/stacks/found', '/stacks/' + stack.id, '/stacks/found/resources', '/stacks/found/events', '/stacks/found/outputs',
                 '/stacks/found/template', '/stacks/found/environment', '/stacks/found/files',
                 '/stacks/arn:openstack:heat::%s:stacks/found/%s' % (s.tenant.project_id, stack.id),
                 stack.path + '?resolve_outputs=False', stack.path + '?resolve_outputs=x'):
        s.get(path)


@scenario
def resources_and_events_are_filtered(s):
    stack = s.create('filtered', template({'a': test_resource(value='x'), 'b': test_resource('a'), 'c': test_resource('b')}))
    s.settle()
    for query in ('name=a', 'name=a&name=b', 'status=COMPLETE', 'status=FAILED', 'type=OS::Heat::TestResource', 'type=X', 'id=1',
                  'with_detail=True', 'nested_depth=2', 'nested_depth=x', 'nested_depth=-1', 'action=CREATE', 'physical_resource_id=x',
                  'nonsense=1'):
        s.get('%s/resources?%s' % (stack.path, query))
    for query in ('limit=2', 'limit=0', 'limit=x', 'sort_dir=desc', 'sort_dir=sideways', 'sort_keys=resource_type', 'sort_keys=x',
                  'marker=nobody', 'resource_name=a', 'resource_status=COMPLETE', 'resource_action=CREATE', 'nested_depth=2',
                  'resource_type=OS::Heat::TestResource', 'resource_name=nobody'):
        s.get('%s/events?%s' % (stack.path, query))
    events = s.get(stack.path + '/resources/a/events', quiet=True)['events']
    s.get(stack.path + '/resources/a/events')
    for event in events:
        s.get('%s/resources/a/events/%s' % (stack.path, event['id']))
    s.get(stack.path + '/resources/a?with_attr=output')
    s.get(stack.path + '/resources/a?with_attr=nonsense')
    physical = s.get(stack.path + '/resources/a', quiet=True)['resource']['physical_resource_id']
    s.get('/resources/' + physical)
    s.get('/stacks/%s/resources' % physical)


@scenario
def build_info(s):
    s.get('/build_info')


@scenario
def types_and_versions(s):
    """Of the types, those that both engines have."""
    common = 'OS::Heat::(Delay|None|RandomString|TestResource|Value)$'
    for query in ('name=' + common, 'name=%s&with_description=True' % common, 'name=%s&version=2014.1' % common,
                  'name=OS::Heat::None&version=1', 'support_status=NONSENSE', 'support_status=HIDDEN', 'name=[', 'name=None',
                  'name=%s&support_status=SUPPORTED' % common, 'name=OS::Keystone::(User|Project)$', 'with_description=perhaps'):
        s.get('/resource_types?' + query)
    s.get('/resource_types?name=OS::Keystone::(User|Project)$', user='admin')
    for name in ('OS::Heat::TestResource', 'OS::Heat::RandomString', 'OS::Keystone::User', 'OS::No::Such', ''):
        s.get('/resource_types/' + name)
        for options in ('', '?template_type=hot', '?template_type=cfn', '?template_type=x'):
            s.get('/resource_types/%s/template%s' % (name, options))
    s.get('/resource_types/OS::Keystone::User', user='admin')
    s.get('/template_versions')
    for version in ('heat_template_version.2021-04-16', 'heat_template_version.queens', 'AWSTemplateFormatVersion.2010-09-09', 'x'):
        s.get('/template_versions/%s/functions' % version)
    # No other version here: for the oracle, the functions of conditions then belong to the version for good.
    for flag in ('True', 'perhaps'):
        s.get('/template_versions/heat_template_version.2017-02-24/functions?with_condition_func=' + flag)


@scenario(only_mixed='what these are about is still handed to a Python engine')
def questions_that_are_handed_over(s):
    for _ in range(4):                      # some reach the Python engine at once, some through ours
        for path in ('/resource_types/OS::Heat::SoftwareConfig', '/resource_types/OS::Heat::SoftwareConfig/template',
                     '/resource_types/OS::No::Such', '/software_configs', '/resource_types?name=OS::Heat::S.*'):
            s.get(path)


@scenario(only_mixed='these types are still handed to a Python engine')
def types_that_are_handed_over(s):
    stack = s.create('foreign', template({
        'group': resource('OS::Heat::ResourceGroup', count=2, resource_def=resource('OS::Heat::RandomString', length=8)),
        'after': test_resource('group')}))
    s.settle()
    s.get(stack.path)
    s.get(stack.path + '/resources')
    s.delete(stack)
    s.settle()


@scenario
def other_tenants_and_roles_see_nothing(s):
    stack = s.create('mine', template({'r': test_resource()}))
    s.settle()
    s.get(stack.path, user='admin')
    for method, path in (('GET', '/services'), ('GET', '/stacks?global_tenant=1')):
        s.request(method, path)
