"""Cassettes: the traffic of a scenario with a real server, kept in a readable file and played back without network.

One file holds one scenario on one server. `form` is the file, `bodies` what stands in it for bytes, `placeholders` and
`scrubbing` what must not be in it, `leaks` looks for what slipped through, `tape` records and plays interactions of
any protocol, `http` and `thrift` are the protocols, `network` keeps replay offline, `session` puts them together.
"""
