"""The one client of all catalogs that speak JSON over HTTP.

| module | holds |
|---|---|
| `config` | the properties that such backends share |
| `transport` | a pool of connections: TLS, proxies, nothing followed, nothing retried |
| `tokens` | who asks: a fixed token, or OAuth2 client credentials |
| `dialect` | an answer that is an error, as one of ours |
| `retrying` | what may be sent again, and when |
| `client` | all of that for one call |
| `backend` | the base of a backend on it |
| `iceberg` | the base of those with the namespaces of the Iceberg REST API |

Nothing here is imported before a backend needs it.
"""
