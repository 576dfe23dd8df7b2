"""The subcommands of `shopca`: one module for each, with `add_parser(subparsers)` and `run(args)`."""
