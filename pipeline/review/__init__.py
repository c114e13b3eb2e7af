"""The report of a service and the page for reviewing its captions."""
