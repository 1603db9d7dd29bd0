"""Stacks under other settings of the engines than the usual ones."""
from scenarios import resource, scenario, template, test_resource


def with_secrets(value):
    return template(
        {'r': test_resource(value={'get_param': 'secret'}), 'v': resource('OS::Heat::Value', value={'get_param': 'list'}),
         'after': test_resource(value={'get_attr': ['r', 'output']})},
        parameters={'secret': {'type': 'string', 'hidden': True}, 'open': {'type': 'string', 'default': value},
                    'unset': {'type': 'string', 'hidden': True, 'default': 'a default'},
                    'list': {'type': 'comma_delimited_list', 'hidden': True, 'default': 'x,y'},
                    'map': {'type': 'json', 'hidden': True, 'default': {'k': 'v'}}},
        outputs={'secret': {'value': {'get_param': 'secret'}}})


@scenario(mixed=True)
def hidden_parameters_are_encrypted(s):
    """What was stored encrypted is read without the option, and the other way round."""
    plain = s.create('plain', with_secrets('a'), {'secret': 'hush', 'list': ['p', 'q'], 'map': {'deep': [1, None]}})
    s.settle()
    with s.rig.engines_with('[DEFAULT]\nencrypt_parameters_and_properties = true\n'):
        sealed = s.create('sealed', with_secrets('a'), {'secret': 'Pssst', 'list': 'a,b', 'map': {'k': 'ü'}})
        s.settle()
        s.look(sealed)
        s.update(sealed, with_secrets('b'), {'secret': 'Pssst', 'list': 'a,b'})
        s.update(plain, parameters={'open': 'c'}, method='PATCH')
        s.settle()
        s.look(sealed)
        s.look(plain)
    s.update(sealed, parameters={'open': 'd'}, method='PATCH')
    s.settle()
    s.look(sealed)
    s.delete(sealed)
    s.settle()


@scenario
def limits_can_be_lifted_or_set(s):
    few = template({'r%d' % number: resource('OS::Heat::None') for number in range(3)})
    with s.rig.engines_with('[DEFAULT]\nmax_resources_per_stack = 2\nmax_stacks_per_tenant = 1\nmax_template_size = 1000\n'
                            'hidden_stack_tags = secret,x\nstack_action_timeout = 3\n'):
        s.create('too-large', few)
        s.create('file-too-large', template({}), files={'a': 'b' * 1001})
        s.create('file-not-too-large', template({}), files={'a': 'ü' * 1000}, tags='x')
        s.settle()
        s.create('another', template({}))
        s.get('/stacks')
        s.get('/stacks?show_hidden=True')
        s.create('by-the-admin', template({'slow': test_resource(action_wait_secs={'create': 30})}), timeout_mins=None, user='admin')
        s.settle()
        s.get('/stacks')
    with s.rig.engines_with('[DEFAULT]\nmax_resources_per_stack = -1\nmax_stacks_per_tenant = -1\n'):
        s.create('large', template({'r%d' % number: resource('OS::Heat::None') for number in range(260)}))
        s.settle()


@scenario
def no_stack_is_allowed(s):
    with s.rig.engines_with('[DEFAULT]\nmax_resources_per_stack = 0\nmax_stacks_per_tenant = 0\n'):
        s.create('none', template({}))
        s.create('none', template({'r': resource('OS::Heat::None')}), user='admin')
        s.create('empty', template({}), user='admin')
        s.settle()


@scenario
def credentials_are_a_password(s):
    with s.rig.engines_with('[DEFAULT]\ndeferred_auth_method = password\n'):
        stack = s.create('password', template({'r': test_resource(value='x')}))
        s.settle()
        s.look(stack)
        s.update(stack, template({'r': test_resource(value='y')}))
        s.settle()
        s.look(stack)
        s.delete(stack)
        s.settle()


@scenario
def work_is_done_by_the_stored_trust(s):
    with s.rig.engines_with('[DEFAULT]\nreauthentication_auth_method = trusts\nallow_trusts_redelegation = true\n'):
        stack = s.create('trusted', template({'r': test_resource(value='x')}))
        s.settle()
        s.look(stack)
        s.update(stack, template({'r': test_resource(value='y')}))
        s.settle()
        s.delete(stack)
        s.settle()


@scenario
def reality_is_looked_at(s):
    with s.rig.engines_with('[DEFAULT]\nobserve_on_update = true\n'):
        stack = s.create('observed', template({'r': test_resource(value='x'), 'n': resource('OS::Heat::None'),
                                               's': resource('OS::Heat::RandomString', length=8)}))
        s.settle()
        s.update(stack, template({'r': test_resource(value='y'), 'n': resource('OS::Heat::None'),
                                  's': resource('OS::Heat::RandomString', length=8)}))
        s.settle()
        s.look(stack)
