"""A client of the Hive Metastore's Thrift interface.

| module | holds |
|---|---|
| `codec` | structs declared as data |
| `structs` | the structs, complete for Hive 3.1 to 4.2 |
| `call` | a call declared as data |
| `client` | the calls: `Metastore` |
| `names` | `@catalog#database` |
| `errors` | exceptions of the metastore and failures of connections, as typed errors |
| `settings`, `uris`, `hivesite` | where the metastore is, and how to talk to it |
| `deadline` | how long that may take |
| `transport` | sockets, TLS, the place for SASL, the place for a recorder |
| `connection`, `pool`, `failover` | a call on one connection, a few connections for many threads, several servers |
| `locks` | the metastore's locks |

Thrift is imported when the first call is made.
"""
