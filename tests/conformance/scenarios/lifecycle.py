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


@scenario(mixed=True)
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


@scenario(mixed=True)
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


@scenario(mixed=True)
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


@scenario(mixed=True)
def type_changes(s):
    stack = s.create('kinds', template({'it': test_resource(value='x'), 'user': test_resource('it')}))
    s.settle()
    s.update(stack, template({'it': resource('OS::Heat::None'), 'user': test_resource('it')}))
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def delay(s):
    stack = s.create('delay', template({'wait': resource(
        'OS::Heat::Delay', min_wait=1, max_jitter=0, actions=['CREATE', 'DELETE'])}))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def values_of_all_types(s):
    kinds = {'string': 'text', 'number': 3.5, 'boolean': True, 'json': {'b': [1, None, 'x'], 'a': {}},
             'comma_delimited_list': ['p', 'q']}
    resources = {kind: resource('OS::Heat::Value', type=kind, value=value) for kind, value in kinds.items()}
    stack = s.create('values', template(resources, outputs={
        kind: {'value': {'get_attr': [kind, 'value']}} for kind in kinds}))
    s.settle()
    s.look(stack)


def yaql(expression, **data):
    return {'yaql': {'expression': expression, 'data': data}}


@scenario(mixed=True)
def expressions(s):
    """YAQL over parameters and attributes: in properties, in a condition and in outputs, before and after an update.

    While nothing is made, attributes are null, also for expressions."""
    def ours(numbers):
        numbers_of_source = {'get_attr': ['source', 'value']}
        return template(
            {'source': resource('OS::Heat::Value', type='json', value={'numbers': {'get_param': 'numbers'}, 'of': 'source'}),
             'sorted': resource('OS::Heat::Value', type='json', value=yaql(
                 '{sorted => coalesce($.data.all, {}).get(numbers, []).select(int($)).where($ > 1).orderBy($)}',
                 all=numbers_of_source)),
             'dict': resource('OS::Heat::Value', type='json', value=yaql(
                 'dict(coalesce($.data.all, {}).get(numbers, []).select([$, int($) * 2.5]))', all=numbers_of_source)),
             'many': dict(test_resource(value=yaql(
                 'str(coalesce($.data.all, {}).keys().orderBy($).toList())', all=numbers_of_source)),
                          condition='many')},
            parameters={'numbers': {'type': 'comma_delimited_list', 'default': numbers}},
            conditions={'many': {'equals': [yaql('$.data.p.len() > 2', p={'get_param': 'numbers'}), True]}},
            outputs={'sorted': {'value': {'get_attr': ['sorted', 'value']}},
                     'dict': {'value': {'get_attr': ['dict', 'value']}},
                     'set': {'value': yaql('$.data.n.select(int($)).toSet()', n={'get_param': 'numbers'})},
                     'wrong': {'value': yaql('$.data.n.nothing()', n={'get_param': 'numbers'})},
                     'endless': {'value': yaql('sequence().toList()')}})
    stack = s.create('expressions', ours('3,1,2'))
    s.settle()
    s.look(stack)
    s.update(stack, ours('5,4'))
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def deletion_policy_and_metadata(s):
    kept = dict(test_resource(value='kept'), deletion_policy='retain', metadata={'owner': 'nobody', 'n': [1, 2.0]})
    stack = s.create('policies', template({'kept': kept, 'gone': test_resource('kept')}))
    s.settle()
    s.look(stack)
    s.get(stack.path + '/resources/kept/metadata')
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def external_resource(s):
    stack = s.create('external', template({
        'foreign': dict(resource('OS::Heat::TestResource'), external_id='somewhere-else'),
        'user': test_resource(value={'get_resource': 'foreign'})}))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def cfn_stack(s):
    def shape(value, **more):
        return {
            'AWSTemplateFormatVersion': '2010-09-09', 'Description': 'in the words of CloudFormation',
            'Parameters': {'Word': {'Type': 'String', 'Default': value, 'MinLength': 1}, 'Flag': {'Type': 'String', 'Default': 'yes'}},
            'Mappings': {'Sizes': {'small': {'n': '8'}, 'large': {'n': '12'}}},
            'Conditions': {'On': {'Fn::Equals': [{'Ref': 'Flag'}, 'yes']}},
            'Resources': dict({
                'First': {'Type': 'OS::Heat::TestResource', 'Properties': {'value': {'Ref': 'Word'}}, 'Metadata': {'a': {'Ref': 'Word'}}},
                'Second': {'Type': 'OS::Heat::TestResource', 'DependsOn': 'First', 'DeletionPolicy': 'Retain', 'Properties': {
                    'value': {'Fn::Join': ['-', [{'Fn::GetAtt': ['First', 'output']}, {'Ref': 'First'}, {'Ref': 'AWS::StackName'}]]}}},
                'Third': {'Type': 'OS::Heat::RandomString', 'Condition': 'On', 'Properties': {
                    'length': {'Fn::FindInMap': ['Sizes', 'small', 'n']}}}}, **more),
            'Outputs': {'Word': {'Value': {'Fn::GetAtt': ['Second', 'output']}, 'Description': 'both'},
                        'Picked': {'Value': {'Fn::Select': ['1', ['a', 'b']]}}, 'Region': {'Value': {'Ref': 'AWS::Region'}}}}
    stack = s.create('cfn', shape('one'))
    s.settle()
    s.look(stack)
    s.update(stack, shape('two', Fourth={'Type': 'OS::Heat::None'}), {'Flag': 'no'})
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def none_stands_for_anything(s):
    """What other types would refuse, and what they would be told about their update."""
    def shape(size):
        return template({
            'group': dict(resource('OS::Heat::ResourceGroup', count=size, resource_def={'type': 'OS::Heat::None'}),
                          update_policy={'rolling_update': {'max_batch_size': size}}, deletion_policy='Snapshot'),
            'wait': resource('OS::Heat::WaitCondition', handle='x', colour='red'),
            'user': test_resource(value={'get_attr': ['group', 'refs']})})
    registry = {'resource_registry': {'OS::Heat::ResourceGroup': 'OS::Heat::None', 'OS::Heat::WaitCondition': 'OS::Heat::None'}}
    stack = s.create('stubbed', shape(2), environment=registry)
    s.settle()
    s.update(stack, shape(3), environment=registry)
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def definitions_change_beside_the_properties(s):
    def shape(**parts):
        return template({'base': test_resource(value='base'), 'it': dict(test_resource(value='x'), **parts)})
    stack = s.create('definitions', shape())
    s.settle()
    for parts in ({'metadata': {'a': 1}}, {'metadata': {'a': 2}, 'depends_on': 'base'}, {'deletion_policy': 'Retain'},
                  {'update_policy': {'x': 1}}, {'description': 'described'}, {}):
        s.update(stack, shape(**parts))
        s.settle()
        s.get(stack.path + '/resources/it/metadata')
        s.rows()
    s.look(stack)


@scenario(mixed=True)
def external_resource_changes(s):
    def shape(external_id, **properties):
        foreign = resource('OS::Heat::TestResource', **properties)
        return template({'foreign': dict(foreign, external_id=external_id) if external_id else foreign,
                         'user': test_resource(value={'get_resource': 'foreign'})})
    stack = s.create('outside', shape('one'))
    s.settle()
    for external_id, properties in (('one', {'value': 'x'}), ('two', {}), (None, {'value': 'own'})):
        s.update(stack, shape(external_id, **properties))
        s.settle()
        s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def names_come_back(s):
    """A name is free again after a delete, and what had it is still there to be looked at."""
    first = s.create('again', basic())
    s.settle()
    s.delete(first)
    s.settle()
    second = s.create('again', basic(), {'value': 'second'})
    s.settle()
    for stack in (first, second):
        for part in ('', '/resources', '/events', '/template', '/environment', '/files', '/outputs', '/outputs/first', '/resources/first'):
            s.get(stack.path + part)
    s.get('/stacks/again')
    s.get('/stacks?show_deleted=True&name=again&sort_keys=status')
    s.update(first, basic())
    s.update(first, method='PATCH', parameters={'value': 'x'})
    s.delete(first)
    s.action(first, {'cancel_update': None})
    s.settle()
    s.rows()


@scenario(mixed=True)
def files_and_tags_change(s):
    def shape(name):
        return template({'r': test_resource(value={'get_file': name})})
    stack = s.create('files', shape('a'), files={'a': 'one', 'b': 'two'}, tags='x,y')
    s.settle()
    s.update(stack, shape('a'), files={'a': 'three'}, tags='y,z')
    s.settle()
    s.look(stack)
    s.update(stack, method='PATCH', files={'c': 'four'})
    s.settle()
    s.update(stack, shape('c'), method='PATCH', files={'a': 'five'}, tags='')
    s.settle()
    s.look(stack)
    s.update(stack, shape('b'), files={'a': 'six'})
    s.update(stack, shape('a'), files={'a': 'six'})
    s.settle()
    s.look(stack)
