"""Shapes and sizes: wide, deep, many, big, and not ASCII."""
import concurrent.futures

from scenarios import resource, scenario, template, test_resource

VALUE = {'value': {'type': 'string', 'default': 'a'}}


@scenario(mixed=True)
def diamond(s):
    shape = template({
        'top': test_resource(value={'get_param': 'value'}),
        'left': test_resource(value={'get_attr': ['top', 'output']}),
        'right': test_resource(value={'get_resource': 'top'}),
        'bottom': test_resource(value={'list_join': [',', [{'get_attr': ['left', 'output']}, {'get_resource': 'right'}]]}),
    }, parameters=VALUE, outputs={'bottom': {'value': {'get_attr': ['bottom', 'output']}}})
    stack = s.create('diamond', shape)
    s.settle()
    s.update(stack, shape, {'value': 'b'})
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def chain_of_50(s):
    links = {'r0': test_resource(value={'get_param': 'value'})}
    for number in range(1, 50):
        links['r%d' % number] = test_resource('r%d' % (number - 1), value={'get_param': 'value'})
    stack = s.create('chain', template(links, parameters=VALUE))
    s.settle()
    s.update(stack, template(links, parameters=VALUE), {'value': 'b'})
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def fan_in_of_200(s):
    names = ['r%d' % number for number in range(200)]
    fan = {name: test_resource(value={'get_param': 'value'}) for name in names}
    fan['last'] = test_resource(names, value={'get_param': 'value'})
    stack = s.create('fan', template(fan, parameters=VALUE))
    s.settle()
    s.get(stack.path)
    s.get(stack.path + '/resources')
    s.rows()
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def twenty_at_once(s):
    shape = template({'none': resource('OS::Heat::None'), 'a': test_resource(value={'get_param': 'value'}),
                      'b': test_resource('a', value={'get_param': 'value'}), 'c': test_resource(['a', 'none'])},
                     parameters=VALUE, outputs={'o': {'value': {'get_attr': ['b', 'output']}}})
    names = ['many%02d' % number for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        stacks = list(pool.map(lambda name: s.create(name, shape, quiet=True), names))
        s.settle()
        s.get('/stacks?sort_keys=stack_name')
        list(pool.map(lambda stack: s.update(stack, shape, {'value': 'b'}, quiet=True), stacks))
        s.settle()
        s.rows()
        list(pool.map(lambda stack: s.delete(stack, quiet=True), stacks))
    s.settle()


@scenario(mixed=True)
def not_ascii(s):
    words = {'grüße': 'Straße „quoted“ \u2028', '日本語': '値\t\n\\"', 'controls': '\x7f\x80'}
    stack = s.create('unicode', template({name: test_resource(value=value) for name, value in words.items()},
                                         description='Beschreibung — ünïcødé',
                                         outputs={'ä': {'value': {'get_attr': ['grüße', 'output']}, 'description': 'Ä'}}))
    if stack:
        s.settle()
        s.look(stack)
    for name in ('ünicode-stack', 'stäck', '名前'):
        other = s.create(name, template({'r': test_resource()}))
        if other:
            s.settle(other)
            s.look(other, rows=False)


@scenario(mixed=True)
def not_ascii_in_an_update(s):
    stack = s.create('umlauts', template({'größe': test_resource(value='Grüße, 世界'), 'nach': resource(
        'OS::Heat::Value', value={'get_attr': ['größe', 'output']})},
        outputs={'wert': {'value': {'get_attr': ['nach', 'value']}}}), tags='schön')
    s.settle()
    s.update(stack, template({'größe': test_resource(value='señor'), 'nach': test_resource('größe')}), tags='schöner')
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def template_of_300_kb(s):
    pieces = {'p%03d' % number: resource('OS::Heat::Value', value='%03d ' % number + 'x' * 14_900) for number in range(20)}
    stack = s.create('big', template(pieces, outputs={'p': {'value': {'get_attr': ['p012', 'value']}}}))
    s.settle()
    s.get(stack.path)
    s.get(stack.path + '/template')
    s.rows()


@scenario(mixed=True)
def template_beyond_the_limit(s):
    s.create('huge', template({'p': resource('OS::Heat::Value', value='x' * 600_000)}))
    s.create('hugefiles', template({'p': test_resource()}), files={'a': 'x' * 600_000})
