"""What is measured: name -> (template, number of stacks at once). The update changes the parameter `value`."""

VALUE = {'get_param': 'value'}


def test_resource(**more):
    return dict({'type': 'OS::Heat::TestResource', 'properties': {'value': VALUE}}, **more)


def template(resources, **sections):
    return dict({'heat_template_version': '2021-04-16', 'parameters': {'value': {'type': 'string', 'default': 'a'}}}, **sections,
                resources=resources)


def flat(count):
    return template({'r%d' % number: test_resource() for number in range(count)})


def chain(count):
    links = {'r%d' % number: test_resource(depends_on='r%d' % (number - 1)) for number in range(1, count)}
    return template(dict({'r0': test_resource()}, **links))


def fan_in(count):
    fan = flat(count)['resources']
    return template(dict(fan, last=test_resource(depends_on=list(fan))))


def fan_out(count):
    fan = template({'r%d' % number: test_resource(depends_on='first') for number in range(count)})
    fan['resources']['first'] = test_resource()
    return fan


def placeholders(count):
    return template({'r%d' % number: {'type': 'OS::Heat::None'} for number in range(count)})


def slow(count, seconds):
    """Resources that are all waited for at the same time."""
    waiting = flat(count)
    for resource in waiting['resources'].values():
        resource['properties']['action_wait_secs'] = {'create': seconds}
    return waiting


def small():
    return template(
        {'none': {'type': 'OS::Heat::None'}, 'random': {'type': 'OS::Heat::RandomString'}, 'a': test_resource(),
         'b': test_resource(depends_on='a'), 'c': test_resource(depends_on=['a', 'random'])},
        outputs={'c': {'value': {'get_attr': ['c', 'output']}}})


CASES = {
    'flat-10': (flat(10), 1),
    'none-100': (placeholders(100), 1),
    'flat-100': (flat(100), 1),
    'chain-50': (chain(50), 1),
    'fanin-200': (fan_in(200), 1),
    'concurrent-20': (small(), 20),
    'fanout-400': (fan_out(400), 1),
    'slow-1000': (slow(1000, 30), 1),
    'flat-500': (flat(500), 1),
    'flat-1000': (flat(1000), 1),
    'flat-2000': (flat(2000), 1),
    'flat-5000': (flat(5000), 1),
}
# What runs when no case is named: what a Python engine does within a few minutes.
USUAL = ('flat-100', 'chain-50', 'fanin-200', 'concurrent-20')
