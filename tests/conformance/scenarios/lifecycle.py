"""A stack's ordinary life: create, update in all ways, delete."""
from scenarios import resource, scenario, template, test_resource

PARAMETERS = {
    'value': {'type': 'string', 'default': 'one', 'description': 'what is stored'},
    'length': {'type': 'number', 'default': 12},
    'secret': {'type': 'string', 'default': 'hush', 'hidden': True},
}


def basic(**changed):
    resources = {
        'ground': resource('OS::Heat::None'),
        'seed': resource('OS::Heat::RandomString', length={'get_param': 'length'}),
        'first': test_resource('ground', value={'get_param': 'value'}),
        'second': test_resource(value={'get_attr': ['first', 'output']}),
        'third': resource('OS::Heat::Value', value={'list_join': ['-', [{'get_attr': ['second', 'output']}, 'x']]}),
    }
    resources.update(changed)
    return template(
        {name: snippet for name, snippet in resources.items() if snippet}, description='basic', parameters=PARAMETERS,
        outputs={'first': {'value': {'get_attr': ['first', 'output']}, 'description': 'the first one'},
                 'third': {'value': {'get_attr': ['third', 'value']}},
                 'seed_reference': {'value': {'get_resource': 'ground'}}})


@scenario(mixed=True)
def create_and_delete(s):
    stack = s.create('basic', basic(), {'value': 'eins'}, tags='a,b')
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()
    s.get(stack.path)
    s.get('/stacks')


@scenario
def create_empty(s):
    stack = s.create('empty', template({}))
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def update_without_change(s):
    stack = s.create('same', basic())
    s.settle()
    s.update(stack, basic())
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def update_in_place(s):
    stack = s.create('inplace', basic())
    s.settle()
    s.update(stack, basic(), {'value': 'two'})
    s.settle()
    s.look(stack)
    s.update(stack, basic(), {'value': 'three'}, tags='c', timeout_mins=30)
    s.settle()
    s.look(stack)


@scenario
def update_adds_and_removes(s):
    stack = s.create('membership', basic())
    s.settle()
    s.update(stack, basic(ground=None, first=test_resource(value='lonely'), fourth=test_resource('third'),
                          third=resource('OS::Heat::Value', 'second', value='new'))
             | {'outputs': {'fourth': {'value': {'get_attr': ['fourth', 'output']}}}})
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def update_replaces(s):
    def replaceable(**properties):
        return template({'before': test_resource(value='b'),
                         'it': test_resource('before', **properties),
                         'after': test_resource(value={'get_resource': 'it'})})
    stack = s.create('replace', replaceable(value='x', update_replace_value='1'))
    s.settle()
    s.update(stack, replaceable(value='x', update_replace_value='2'))
    s.settle()
    s.look(stack)
    s.update(stack, replaceable(value='y', update_replace=True, update_replace_value='2'))
    s.settle()
    s.look(stack)


@scenario
def random_string_is_replaced(s):
    def strings(length, salt):
        return template({'s': resource('OS::Heat::RandomString', length=length, salt=salt, character_classes=[
            {'class': 'digits', 'min': 2}, {'class': 'lowercase', 'min': 3}], character_sequences=[
                {'sequence': '#-', 'min': 1}])}, outputs={'length': {'value': length}})
    stack = s.create('strings', strings(20, 'a'))
    s.settle()
    s.look(stack)
    s.update(stack, strings(30, 'a'))
    s.settle()
    s.update(stack, strings(30, 'b'))
    s.settle()
    s.look(stack)


@scenario
def type_changes(s):
    stack = s.create('kinds', template({'it': test_resource(value='x'), 'user': test_resource('it')}))
    s.settle()
    s.update(stack, template({'it': resource('OS::Heat::None'), 'user': test_resource('it')}))
    s.settle()
    s.look(stack)


@scenario
def delay(s):
    stack = s.create('delay', template({'wait': resource(
        'OS::Heat::Delay', min_wait=1, max_jitter=0, actions=['CREATE', 'DELETE'])}))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario
def values_of_all_types(s):
    kinds = {'string': 'text', 'number': 3.5, 'boolean': True, 'json': {'b': [1, None, 'x'], 'a': {}},
             'comma_delimited_list': ['p', 'q']}
    resources = {kind: resource('OS::Heat::Value', type=kind, value=value) for kind, value in kinds.items()}
    stack = s.create('values', template(resources, outputs={
        kind: {'value': {'get_attr': [kind, 'value']}} for kind in kinds}))
    s.settle()
    s.look(stack)


@scenario
def deletion_policy_and_metadata(s):
    kept = dict(test_resource(value='kept'), deletion_policy='retain', metadata={'owner': 'nobody', 'n': [1, 2.0]})
    stack = s.create('policies', template({'kept': kept, 'gone': test_resource('kept')}))
    s.settle()
    s.look(stack)
    s.get(stack.path + '/resources/kept/metadata')
    s.delete(stack)
    s.settle()


@scenario
def external_resource(s):
    stack = s.create('external', template({
        'foreign': dict(resource('OS::Heat::TestResource'), external_id='somewhere-else'),
        'user': test_resource(value={'get_resource': 'foreign'})}))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()
