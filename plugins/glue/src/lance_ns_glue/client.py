"""botocore's client for Glue: made at the first call, once for all threads, and again in a forked child."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import attrs

from lance_ns.errors import Internal
from lance_ns.perprocess import PerProcess
from lance_ns_glue import errors
from lance_ns_glue.config import GlueConfig
from lance_ns_glue.logs import hide_secrets

LEAST_LIFE = 600
"""botocore renews credentials before they have fewer seconds than this to live."""


@attrs.frozen
class _Connected:
    glue: Any
    credentials: Any


class GlueClient:
    """Calls one catalog with the credentials, limits and time-outs of a connection."""

    def __init__(self, config: GlueConfig) -> None:
        self._config = config
        self._scope = {} if config.catalog_id is None else {"CatalogId": config.catalog_id}
        self._connected: PerProcess[_Connected] = PerProcess(
            lambda: _connected(config), lambda connected: connected.glue.close()
        )

    def close(self) -> None:
        """Close the connections."""
        self._connected.close()

    def call(
        self, operation: str, *, holds: str | None = None, meaning: errors.Kinds | None = None, **parameters: Any
    ) -> dict[str, Any]:
        """Send a call and give back its answer.

        Args:
            operation: the name of botocore's method.
            holds: what a success must contain: without it, it is the rest of an answer that was cut short.
            meaning: what error names mean for this call.
            parameters: those of the call, without the catalog.

        Raises:
            LanceNsError: the call failed; its class is what the error means.
        """
        answer = self._sent(operation, parameters, meaning or {})
        about = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        if "json" not in about.get("content-type", "json") or (holds is not None and answer.get(holds) is None):
            raise Internal(
                f"the service answered {operation} with success, but not with what it is to hold",
                hint="check that 'endpoint' names the catalog itself, and try again",
            )
        return answer

    def credentials(self) -> dict[str, str]:
        """The credentials of this moment as storage options; those that are renewed say when to ask again."""
        from time import time

        from botocore.credentials import RefreshableCredentials
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            source = self._connected().credentials
            frozen = source.get_frozen_credentials()
        except (BotoCoreError, ClientError, ValueError) as error:
            raise errors.translated(error, {}) from error
        options = {"aws_access_key_id": frozen.access_key, "aws_secret_access_key": frozen.secret_key}
        if frozen.token:
            options["aws_session_token"] = frozen.token
        if isinstance(source, RefreshableCredentials):
            options["expires_at_millis"] = str(int((time() + LEAST_LIFE) * 1000))
        return options

    def _sent(self, operation: str, parameters: Mapping[str, Any], meaning: errors.Kinds) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        renewable = self._config.access_key_id is None or self._config.role_arn is not None
        while True:
            connected = None
            try:
                connected = self._connected()
                answer: dict[str, Any] = getattr(connected.glue, operation)(**self._scope, **parameters)
                return answer
            except (BotoCoreError, ClientError, ValueError) as error:
                if not (renewable and connected is not None and errors.is_expired(error)):
                    raise errors.translated(error, meaning) from error
            renewable = False
            self._forget(connected)

    def _forget(self, stale: _Connected) -> None:
        """Let the next call find credentials anew, unless another thread has seen to that."""
        if self._connected() is stale:
            self._connected.close()


def _connected(config: GlueConfig) -> _Connected:
    from botocore.config import Config

    hide_secrets()
    settings = Config(
        connect_timeout=config.connect_timeout,
        read_timeout=config.read_timeout,
        retries={"mode": "standard", "total_max_attempts": config.max_retries + 1},
        max_pool_connections=config.max_connections,
        user_agent_extra="lance-ns",
    )
    session = _session(config)
    if config.access_key_id is not None and config.secret_access_key is not None:
        token = None if config.session_token is None else config.session_token.reveal()
        session.set_credentials(config.access_key_id, config.secret_access_key.reveal(), token)
    if config.role_arn is not None:
        session = _session_of_role(config, session, settings)
    credentials = _credentials(session)
    glue = session.create_client("glue", region_name=config.region, endpoint_url=config.endpoint, config=settings)
    glue.meta.events.register("response-received.glue", errors.note_lost_answer)
    glue.meta.events.register("after-call.glue", errors.tell_of_lost_answer)
    return _Connected(glue, credentials)


def _session(config: GlueConfig) -> Any:
    from botocore.session import Session

    session = Session(profile=config.profile)
    session.register_component("data_loader", _loader())
    return session


def _credentials(session: Any) -> Any:
    from botocore.exceptions import NoCredentialsError

    found = session.get_credentials()
    if found is None:
        raise NoCredentialsError
    return found


def _session_of_role(config: GlueConfig, source: Any, settings: Any) -> Any:
    """A session whose credentials are those of a role, assumed with another session's and assumed again in time."""
    from botocore.credentials import (
        AssumeRoleCredentialFetcher,
        CredentialProvider,
        CredentialResolver,
        DeferredRefreshableCredentials,
    )

    wishes = {"RoleSessionName": config.role_session_name, "ExternalId": config.external_id}
    fetcher = AssumeRoleCredentialFetcher(
        partial(source.create_client, region_name=config.region, endpoint_url=config.sts_endpoint, config=settings),
        _credentials(source),
        config.role_arn,
        extra_args={name: value for name, value in wishes.items() if value is not None},
    )

    class Role(CredentialProvider):  # type: ignore[misc]
        METHOD = "assume-role"

        def load(self) -> Any:
            return DeferredRefreshableCredentials(fetcher.fetch_credentials, self.METHOD)

    session = _session(config)
    session.register_component("credential_provider", CredentialResolver([Role()]))
    return session


@cache
def _loader() -> Any:
    """botocore's models, read once for all connections, and found without a look into every service's directory."""
    from pathlib import Path

    from botocore.loaders import Loader

    class GlueLoader(Loader):  # type: ignore[misc]
        def list_available_services(self, type_name: str) -> list[str]:
            del type_name
            directories = [Path(path) for path in self.search_paths if Path(path).is_dir()]
            return sorted({each.name for directory in directories for each in directory.iterdir()})

    return GlueLoader()
