"""Several processes that train as one."""
