"""Tools for developers, each run from the checkout as `python -m scripts.<package>.<name>`."""
