"""Prints the environment variable that its argument names: what a worker was started with."""

import os
import sys

sys.stdout.write(os.environ.get(sys.argv[1], ""))
