"""`python -m kdsl` is the `kdsl` command."""

import sys

from kdsl.cli.main import main

sys.exit(main())
