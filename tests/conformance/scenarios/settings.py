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
    """What was stored encrypted is read without the option, and the other way round. Only texts: the oracle encrypts nothing else."""
    plain = s.create('plain', with_secrets('a'), {'secret': 'hush', 'list': 'p,q'})
    s.settle()
    s.rig.have_engines_with('[DEFAULT]\nencrypt_parameters_and_properties = true\n')
    sealed = s.create('sealed', with_secrets('a'), {'secret': 'Pssst', 'list': 'a,b', 'map': '{"k": "ü"}'})
    s.settle()
    s.look(sealed)
    s.update(sealed, with_secrets('b'), {'secret': 'Pssst', 'list': 'a,b'})
    s.update(plain, parameters={'open': 'c'}, method='PATCH')
    s.settle()
    s.look(sealed)
    s.look(plain)
    s.rig.have_engines_with()
    s.update(sealed, parameters={'open': 'd'}, method='PATCH')
    s.settle()
    s.look(sealed)
    s.delete(sealed)
    s.settle()


# A word of the operator's on limits, on credentials and on what is looked at: each stands alone.
STRICT = '''[DEFAULT]
max_resources_per_stack = 2
max_stacks_per_tenant = 1
max_template_size = 1000
hidden_stack_tags = secret,x
stack_action_timeout = 3
reauthentication_auth_method = trusts
allow_trusts_redelegation = true
'''
LOOSE = '''[DEFAULT]
max_resources_per_stack = -1
max_stacks_per_tenant = 0
deferred_auth_method = password
observe_on_update = true
'''


@scenario(options=STRICT)
def limits_are_set(s):
    few = template({'r%d' % number: resource('OS::Heat::None') for number in range(3)})
    s.create('too-large', few)
    s.create('file-too-large', template({}), files={'a': 'b' * 1001})
    s.create('hidden', template({}), files={'a': 'ü' * 1000}, tags='x')
    s.settle()
    s.create('seen', template({}))
    s.settle()
    s.create('one-too-many', template({}))
    s.get('/stacks')
    s.get('/stacks?show_hidden=True')
    s.create('by-the-admin', template({'slow': test_resource(action_wait_secs={'create': 30})}), timeout_mins=None, user='admin')
    s.settle()
    s.get('/stacks')


@scenario(options=STRICT)
def work_is_done_by_the_stored_trust(s):
    stack = s.create('trusted', template({'r': test_resource(value='x')}))
    s.settle()
    s.look(stack)
    s.update(stack, template({'r': test_resource(value='y')}))
    s.settle()
    s.delete(stack)
    s.settle()


@scenario(options=LOOSE)
def limits_are_lifted(s):
    """But for stacks, of which there can be none but an admin's."""
    many = template({'r%d' % number: resource('OS::Heat::None') for number in range(260)})
    s.create('none', template({}))
    s.request('POST', '/stacks/preview', {'stack_name': 'many', 'template': many}, user='admin')


@scenario(options=LOOSE)
def credentials_are_a_password_and_reality_is_looked_at(s):
    def shape(value):
        return template({'r': test_resource(value=value), 'n': resource('OS::Heat::None'), 's': resource('OS::Heat::RandomString', length=8)})
    s.user = 'admin'
    stack = s.create('password', shape('x'))
    s.settle()
    s.look(stack)
    s.update(stack, shape('y'))
    s.settle()
    s.look(stack)
    s.delete(stack)
    s.settle()
