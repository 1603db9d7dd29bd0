"""`Fn::GetAZs`: the availability zones of a nova."""
from scenarios import scenario, test_resource

# The scenarios' regions have no Keystone: nobody's catalogue is to change but for nova.
REGION = '[keystone_authtoken]\nregion_name = RegionOne\n'

ZONES = {'Fn::GetAZs': ''}
JOINED = {'Fn::Join': [',', ZONES]}


def cfn(resources, **outputs):
    return {'AWSTemplateFormatVersion': '2010-09-09', 'Resources': resources,
            'Outputs': {name: {'Value': value} for name, value in outputs.items()}}


def cfn_resource(value, depends_on=None, metadata=None, **properties):
    snippet = {'Type': 'OS::Heat::TestResource', 'Properties': dict(properties, value=value)}
    if depends_on:
        snippet['DependsOn'] = depends_on
    if metadata:
        snippet['Metadata'] = metadata
    return snippet


def everywhere(**more):
    return cfn(dict({
        'First': cfn_resource({'Fn::Select': ['0', ZONES]}, metadata={'zones': ZONES, 'joined': JOINED}),
        'List': {'Type': 'OS::Heat::Value', 'Properties': {'type': 'comma_delimited_list', 'value': {'Fn::GetAZs': {'Ref': 'AWS::Region'}}}},
        'After': cfn_resource({'Fn::Join': ['-', [{'Fn::GetAtt': ['First', 'output']}, JOINED]]}, 'First'),
        'Without': cfn_resource('nothing')}, **more),
        Zones=ZONES, Joined=JOINED, List={'Fn::GetAtt': ['List', 'value']}, After={'Fn::GetAtt': ['After', 'output']})


@scenario(mixed=True, options=REGION)
def zones_are_told_and_change(s):
    nova = s.have_nova([('north', True), ('south', False)])
    nova.enter_catalogue()
    s.request('POST', '/validate', {'template': everywhere()})
    s.request('POST', '/stacks/preview', {'stack_name': 'previewed', 'template': everywhere()})
    one = cfn({'Only': cfn_resource(JOINED, metadata={'zones': ZONES})}, Zones=ZONES)
    single = s.create('single', one)
    s.settle()
    stack = s.create('zones', everywhere())
    s.settle()
    s.look(stack)
    s.get(stack.path + '/resources/First/metadata')
    nova.serve([('west', True), ('south', True), ('east', True)])
    s.get(stack.path)
    for name in ('First', 'List'):
        s.get('%s/resources/%s' % (stack.path, name))
    s.request('PUT', single.path + '/preview', {'template': one})
    s.update(stack, everywhere())
    s.settle()
    s.look(stack)
    s.get(stack.path + '/resources/First/metadata')
    nova.serve([])
    s.update(stack, everywhere())                       # There is no first zone.
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(options=REGION)
def zones_in_a_template_of_old(s):
    """The first version of HOT has the function, later ones know that it is gone, others never heard of it."""
    s.have_nova([('nova', True)]).enter_catalogue()

    def hot(version):
        return {'heat_template_version': version, 'resources': {'r': test_resource(value={'Fn::Join': ['', ZONES]})},
                'outputs': {'zones': {'value': ZONES}}}
    for version in ('2013-05-23', '2014-10-16', '2021-04-16'):
        stack = s.create('hot-' + version, hot(version))
        s.settle()
        if stack:
            s.look(stack)
    heat = dict(everywhere(), HeatTemplateFormatVersion='2012-12-12')
    del heat['AWSTemplateFormatVersion']
    stack = s.create('heat', heat)
    s.settle()
    s.look(stack)


def text(kind, message):
    return '{"%s": {"code": 0, "message": "%s"}}' % (kind, message)


ANSWERS = {
    'bad_request': (400, text('badRequest', 'No such thing.')),
    'unauthorized': (401, text('error', 'The request you have made requires authentication.')),
    'forbidden': (403, text('forbidden', 'Policy does not allow it.')),
    'not_found': (404, text('itemNotFound', 'The resource could not be found.')),
    'not_found_plainly': (404, '404 Not Found', 'text/plain'),
    'not_allowed': (405, ''),
    'conflict': (409, '{"message": "flat", "details": "x"}'),
    'over_limit': (413, text('overLimit', 'This request was rate-limited.')),
    'too_many': (429, ''),
    'broken': (500, text('computeFault', 'Unexpected API Error.')),
    'broken_plainly': (500, '<html>oops</html>', 'text/html'),
    'not_implemented': (501, ''),
    'bad_gateway': (502, 'a gateway', 'text/plain'),
    'teapot': (418, '[]'),
}


@scenario(options=REGION)
def zones_that_nova_does_not_tell(s):
    nova = s.have_nova([('nova', True)])
    in_property = cfn({'r': cfn_resource(JOINED)})
    in_metadata = cfn({'r': cfn_resource('x', metadata={'zones': ZONES})})
    in_output = cfn({'r': cfn_resource('x')}, Zones=ZONES, Other='told')
    s.create('nowhere', in_property, label='not in the catalogue: property')
    stack = s.create('output', in_output, label='not in the catalogue: output')
    s.settle()
    s.look(stack)
    nova.enter_catalogue()
    for name, answer in ANSWERS.items():
        nova.answer(*answer)
        s.create('fails', in_property, label=name + ': property')
        s.get(stack.path + '/outputs/Zones', label=name + ': output')
    for template in (in_property, in_metadata, in_output):
        s.request('POST', '/validate', {'template': template})
        s.request('POST', '/stacks/preview', {'stack_name': 'previewed', 'template': template})
    nova.leave_catalogue()
    s.get(stack.path + '/outputs/Zones', label='no more in the catalogue: output')
    s.settle()


@scenario(mixed=True, options=REGION)
def zones_that_nova_tells_no_more(s):
    """Of resources that are being made, updated, shown and deleted."""
    def shape(word):
        slow = cfn_resource(word, action_wait_secs={'create': 2, 'update': 2})
        return cfn({'Wait': slow, 'It': cfn_resource(JOINED, 'Wait')}, Zones=ZONES, It={'Fn::GetAtt': ['It', 'output']})

    nova = s.have_nova([('nova', True)])
    nova.enter_catalogue()
    stack = s.create('making', shape('a'))
    s.until_resource(stack, 'Wait', 'CREATE_IN_PROGRESS')
    nova.answer(*ANSWERS['forbidden'])
    s.settle()
    s.look(stack)
    nova.serve([('nova', True)])
    s.update(stack, shape('b'))
    s.settle()
    s.update(stack, shape('c'))
    s.until_resource(stack, 'Wait', 'UPDATE_IN_PROGRESS')
    nova.answer(*ANSWERS['broken'])
    s.settle()
    s.look(stack)
    s.update(stack, shape('d'))
    s.request('PUT', stack.path + '/preview', {'template': shape('d')})
    s.settle()
    s.delete(stack)
    s.settle()
