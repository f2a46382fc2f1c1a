"""Polaris: the official server from a directory of the user's, or a running one."""

import json
import os
import secrets
import urllib.parse
from pathlib import Path
from typing import Any

from servers.errors import Missing, NotReady, StartFailed
from servers.kinds.base import REGION, Launch, Machine, Profile, Server, fresh_directory, home_from
from servers.ports import HOST
from servers.probes import expect_ok, http, http_json
from servers.state import Facts, ServerState

CATALOG = "lance"
STRANGER = "stranger"
REALM = "POLARIS"


class Polaris(Server):
    """POLARIS_ENDPOINT before POLARIS_HOME; bootstrapped with a catalog on files and a principal without privileges."""

    def external(self) -> str | None:
        """A running server."""
        endpoint = os.environ.get("POLARIS_ENDPOINT")
        return endpoint.rstrip("/") if endpoint else None

    def version(self, machine: Machine) -> str:
        """What the release calls itself."""
        del machine
        if self.external():
            return "running elsewhere"
        home = home_from("POLARIS_HOME")
        return release_name(home) if home is not None else "official"

    def prepare(self, machine: Machine) -> None:
        """Look at the user's directory."""
        del machine
        home = home_from("POLARIS_HOME")
        if home is None:
            message = (
                "polaris: no server to be had. Let POLARIS_HOME name an unpacked release (a directory with "
                "quarkus-run.jar), or POLARIS_ENDPOINT a running server (with POLARIS_CREDENTIAL as id:secret)."
            )
            raise Missing(message)
        runner(home)
        self.java()

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The server in memory; the root credential goes through the environment."""
        home = home_from("POLARIS_HOME")
        assert home is not None
        fresh_directory(state.data / "warehouse")
        settings = {
            "polaris.persistence.type": "in-memory",
            "polaris.realm-context.realms": REALM,
            "polaris.authentication.type": "internal",
            "polaris.authentication.token-broker.type": "rsa-key-pair",
            "polaris.readiness.ignore-severe-issues": "true",
            'polaris.features."ALLOW_INSECURE_STORAGE_TYPES"': "true",
            'polaris.features."SUPPORTED_CATALOG_STORAGE_TYPES"': '["FILE","S3"]',
            'polaris.features."ENABLE_GENERIC_TABLES"': "true",
            "quarkus.http.host": HOST,
            "quarkus.http.port": str(port),
            "quarkus.management.host": HOST,
            "quarkus.management.port": str(port + 1),
        }
        options = [f"-D{key}={value}" for key, value in settings.items()]
        environment = {
            "POLARIS_BOOTSTRAP_CREDENTIALS": f"{REALM},root,{machine.secret('polaris-root')}",
            "AWS_REGION": REGION,
        }
        return Launch(self.java_command(*options, "-jar", str(runner(home))), environment, state.data)

    def credential(self, machine: Machine) -> tuple[str, str]:
        """Client id and secret of the root principal."""
        if self.external() is None:
            return "root", machine.secret("polaris-root")
        client, _, secret = os.environ.get("POLARIS_CREDENTIAL", "").partition(":")
        if not secret:
            message = "polaris: POLARIS_ENDPOINT is set; let POLARIS_CREDENTIAL name its principal as id:secret."
            raise Missing(message)
        return client, secret

    def check(self, machine: Machine, facts: Facts) -> None:
        """The health of our own server, a token from a running one."""
        if self.external() is None:
            expect_ok(f"http://{HOST}:{facts.port + 1}/q/health/ready")
        try:
            token_of(facts.endpoint, *self.credential(machine))
        except (OSError, StartFailed) as problem:
            raise NotReady(str(problem)) from problem

    def settle(self, machine: Machine, facts: Facts) -> None:
        """Make the catalog on files, and a principal that may do nothing."""
        client, secret = self.credential(machine)
        header = {"Authorization": f"Bearer {token_of(facts.endpoint, client, secret)}"}
        files = fresh_directory(machine.server_state(self.name).data / "warehouse").as_uri()
        management = f"{facts.endpoint}/api/management/v1"
        catalog = {
            "name": CATALOG,
            "type": "INTERNAL",
            "properties": {"default-base-location": files},
            "storageConfigInfo": {"storageType": "FILE", "allowedLocations": [files]},
        }
        create(f"{management}/catalogs", {"catalog": catalog}, header)
        made = create(f"{management}/principals", {"principal": {"name": STRANGER}}, header)
        if made is None and not knows_stranger(machine, facts.endpoint):
            # Somebody else's stranger, whose secret nobody tells: one of our own, so that theirs goes on to work.
            name = f"{STRANGER}-{secrets.token_hex(4)}"
            made = create(f"{management}/principals", {"principal": {"name": name}}, header)
            if made is None:
                message = (
                    f"polaris: there is a principal {STRANGER} whose secret is not known, and no other can be made."
                )
                raise StartFailed(message)
        if made:
            found = made["credentials"]
            machine.secret("polaris-stranger", f"{found['clientId']}:{found['clientSecret']}")

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """The root principal, and the one without privileges."""
        files = fresh_directory(machine.server_state(self.name).data / "warehouse")
        common: Profile = {"backend": "polaris", "endpoint": facts.endpoint, "root": str(files)}
        return {
            f"{self.name}-live": {**common, "credential": ":".join(self.credential(machine))},
            f"{self.name}-{STRANGER}-live": {**common, "credential": machine.secret("polaris-stranger")},
        }


def runner(home: Path) -> Path:
    """The application's jar in an unpacked release."""
    for place in (home, home / "server", home / "quarkus-app"):
        if (place / "quarkus-run.jar").is_file():
            return place / "quarkus-run.jar"
    message = (
        f"polaris: POLARIS_HOME is {home}, and there is no quarkus-run.jar in it, nor in its server/ directory. Let it "
        f"name an unpacked release."
    )
    raise Missing(message)


def release_name(home: Path) -> str:
    """The version from the names of the release's jars."""
    for jar in sorted(runner(home).parent.rglob("*polaris-core-*.jar")):
        return jar.stem.rpartition("polaris-core-")[2]
    return "official"


def knows_stranger(machine: Machine, endpoint: str) -> bool:
    """Whether the credential that is kept is one of this server."""
    client, _, secret = machine.secret("polaris-stranger").partition(":")
    try:
        return bool(secret and token_of(endpoint, client, secret))
    except StartFailed:
        return False


def token_of(endpoint: str, client: str, secret: str) -> str:
    """A bearer token for a principal."""
    form = urllib.parse.urlencode(
        {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": "PRINCIPAL_ROLE:ALL",
        }
    )
    status, answer = http(
        f"{endpoint}/api/catalog/v1/oauth/tokens",
        method="POST",
        body=form.encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    if status != 200:
        message = f"polaris: the token endpoint answered {status} to {client}"
        raise StartFailed(message)
    return str(json.loads(answer)["access_token"])


def create(url: str, document: dict[str, Any], headers: dict[str, str]) -> Any:
    """Create something that may be there already; its answer, None where it was."""
    status, answer = http_json(url, document, method="POST", headers=headers)
    if status == 409:
        return None
    if status not in (200, 201):
        message = f"polaris: POST {url} answered {status}: {answer}"
        raise StartFailed(message)
    return answer
