"""The Python heat-engine without its pause of 1 s after each leaf that it triggers.

With the pause a flat stack of N resources takes N seconds on any machine, which hides what is compared. Nothing else
differs, except that LIFT_THREAD_CAP=1 lifts the limit that ends a process's service to a stack after 1000 of its events
(each starts a thread, and the list of threads never shrinks).
"""
import os
import sys

sys.argv[0] = 'heat-engine'
from heat.cmd import engine  # noqa: E402  (first: it chooses the backend of oslo.service)
from heat.engine import scheduler  # noqa: E402
from heat.engine import service  # noqa: E402
from heat.engine import stack  # noqa: E402


class SchedulerWithoutSleep:
    """What heat.engine.stack sees; the poll of resources in progress lies in the scheduler itself and stays."""

    ENABLE_SLEEP = False

    def __getattr__(self, name):
        return getattr(scheduler, name)


stack.scheduler = SchedulerWithoutSleep()

if os.environ.get('LIFT_THREAD_CAP'):
    limited = service.ThreadGroup.__init__
    service.ThreadGroup.__init__ = lambda self, *args, **kwargs: limited(self, max_threads=10 ** 7)

if __name__ == '__main__':
    engine.main()
