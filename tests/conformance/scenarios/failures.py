"""What fails, and what becomes of the stack: with and without rollback, in create, update and delete."""
from scenarios import resource, scenario, template, test_resource


def failing(fail, value='one', **more):
    return template(dict({'good': test_resource(value=value), 'bad': test_resource('good', value=value, fail=fail),
                          'never': test_resource('bad', value=value)}, **more),
                    outputs={'good': {'value': {'get_attr': ['good', 'output']}},
                             'never': {'value': {'get_attr': ['never', 'output']}}})


@scenario(mixed=True)
def create_fails(s):
    stack = s.create('fails', failing(True), disable_rollback=True)
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def create_fails_and_rolls_back(s):
    stack = s.create('fails', failing(True), disable_rollback=False)
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def update_fails(s):
    stack = s.create('fails', failing(False), disable_rollback=True)
    s.settle()
    s.update(stack, failing(True, 'two'), disable_rollback=True)
    s.settle()
    s.look(stack)
    s.update(stack, failing(False, 'three'), disable_rollback=True)
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def update_fails_and_rolls_back(s):
    stack = s.create('fails', failing(False), tags='old')
    s.settle()
    s.update(stack, failing(True, 'two'), disable_rollback=False, tags='new', timeout_mins=20)
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()


@scenario(mixed=True)
def update_that_adds_fails_and_rolls_back(s):
    stack = s.create('fails', failing(False))
    s.settle()
    s.update(stack, failing(False, 'one', extra=test_resource('never', fail=True), other=test_resource('good')),
             disable_rollback=False)
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def replacement_fails_and_rolls_back(s):
    def replaced(number, fail):
        return template({'it': test_resource(update_replace_value=number), 'bad': test_resource('it', value=number, fail=fail)})
    stack = s.create('replaced', replaced('1', False))
    s.settle()
    s.update(stack, replaced('2', True), disable_rollback=False)
    s.settle()
    s.look(stack)
    s.update(stack, replaced('3', False))
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def failed_resource_is_replaced_by_the_next_update(s):
    stack = s.create('again', failing(True), disable_rollback=True)
    s.settle()
    s.update(stack, failing(False))
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def one_fails_while_another_is_being_made(s):
    stack = s.create('two', template({'a': test_resource(fail=True), 'b': test_resource(fail=True, wait_secs=3),
                                      'after': test_resource(['a', 'b'])}))
    s.settle()
    s.until_resource(stack, 'b', 'CREATE_FAILED')
    s.until_quiet()
    s.look(stack)


@scenario(mixed=True)
def attribute_that_is_not_there(s):
    stack = s.create('attribute', template({'it': test_resource(), 'user': test_resource(
        value={'get_attr': ['it', 'show', 'nothing']})}))
    if stack:
        s.settle()
        s.look(stack)


@scenario(mixed=True)
def update_that_is_refused_changes_nothing(s):
    stack = s.create('refused', failing(False))
    s.settle()
    s.update(stack, template({'x': resource('OS::No::Such')}))
    s.update(stack, template({'x': test_resource(wait_secs='not a number')}))
    s.update(stack, template({'x': test_resource({'not': 'a list'})}))
    s.settle()
    s.look(stack)
