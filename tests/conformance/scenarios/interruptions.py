"""What comes in while something is in progress: updates, deletes, cancels, and the clock."""
from scenarios import scenario, template, test_resource

# A check that meets a lock is tried again, or not, as the messages happen to arrive.
RETRIED = 'a check that finds its resource locked is sent again as the clock has it'


def slow(value, **seconds):
    return template({'quick': test_resource(value=value), 'slow': test_resource('quick', value=value, action_wait_secs=seconds),
                     'after': test_resource('slow', value=value)})


@scenario(mixed=True, frames_by_chance=RETRIED)
def update_during_create(s):
    stack = s.create('busy', slow('one', create=4))
    s.until_resource(stack, 'slow', 'CREATE_IN_PROGRESS')
    s.update(stack, slow('two', create=4))
    s.settle()
    s.look(stack)


@scenario(mixed=True, frames_by_chance=RETRIED)
def update_during_update(s):
    stack = s.create('busy', slow('one'))
    s.settle()
    s.update(stack, slow('two', update=4))
    s.until_resource(stack, 'slow', 'UPDATE_IN_PROGRESS')
    s.update(stack, slow('three'))
    s.settle()
    s.look(stack)


@scenario(mixed=True, frames_by_chance=RETRIED)
def delete_during_create(s):
    stack = s.create('busy', slow('one', create=4))
    s.until_resource(stack, 'slow', 'CREATE_IN_PROGRESS')
    s.delete(stack)
    s.settle()
    s.get(stack.path)


@scenario(mixed=True, frames_by_chance=RETRIED)
def delete_during_update(s):
    stack = s.create('busy', slow('one'))
    s.settle()
    s.update(stack, slow('two', update=4))
    s.until_resource(stack, 'slow', 'UPDATE_IN_PROGRESS')
    s.delete(stack)
    s.settle()
    s.get(stack.path)


@scenario(mixed=True, frames_by_chance=RETRIED)
def cancel_update_with_rollback(s):
    stack = s.create('cancelled', slow('one'))
    s.settle()
    s.update(stack, slow('two', update=15))
    s.until_resource(stack, 'slow', 'UPDATE_IN_PROGRESS')
    s.action(stack, {'cancel_update': None})
    s.settle()
    s.look(stack)
    s.update(stack, slow('three'))
    s.settle()
    s.look(stack)


@scenario(mixed=True, frames_by_chance=RETRIED)
def cancel_update_without_rollback(s):
    stack = s.create('cancelled', slow('one'))
    s.settle()
    s.update(stack, slow('two', update=60))
    s.until_resource(stack, 'slow', 'UPDATE_IN_PROGRESS')
    s.action(stack, {'cancel_without_rollback': None})
    s.settle()
    s.look(stack)


@scenario(mixed=True, frames_by_chance=RETRIED)
def cancel_create(s):
    stack = s.create('cancelled', slow('one', create=60))
    s.until_resource(stack, 'slow', 'CREATE_IN_PROGRESS')
    s.action(stack, {'cancel_without_rollback': None})
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def cancel_when_nothing_is_in_progress(s):
    stack = s.create('idle', slow('one'))
    s.settle()
    s.action(stack, {'cancel_update': None})
    s.action(stack, {'cancel_without_rollback': None})
    s.action(stack, {'no_such_action': None})
    s.action(stack, {'suspend': None, 'resume': None})
    s.action(stack, {})
    s.settle()
    s.look(stack)


@scenario(mixed=True)
def creates_and_updates_run_out_of_time(s):
    """Both at once: a minute is the least that the API takes."""
    created = s.create('late', slow('one', create=100), timeout_mins=1)
    updated = s.create('later', slow('one'))
    s.settle(updated)
    s.update(updated, slow('two', update=100), timeout_mins=1, disable_rollback=False)
    s.settle()
    s.look(created)
    s.look(updated)
