"""Glue, STS and S3 on this machine."""

import os
import sys
from pathlib import Path
from typing import Any

from servers import builds
from servers.errors import Missing, NotReady, StartFailed
from servers.kinds.base import BUCKET, REGION, Launch, Machine, Profile, Server, fresh_directory
from servers.ports import HOST
from servers.state import Facts, ServerState
from servers.versions import MOTO, VERSITYGW

CHOICE_VARIABLE = "LANCE_NS_S3_SERVER"
REQUIREMENTS = "python -m pip install -r servers/requirements.txt"


def client(service: str, endpoint: str, access_key: str, secret_key: str) -> Any:
    """A botocore client for a server on this machine: one try, short time-outs."""
    try:
        import botocore.config
        import botocore.session
    except ImportError:
        message = f"botocore is not installed in this Python ({sys.executable}): run `{REQUIREMENTS}`."
        raise Missing(message) from None
    config = botocore.config.Config(
        connect_timeout=3, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 1}, proxies={}
    )
    return botocore.session.Session().create_client(
        service,
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=config,
    )


def require_moto(server: str) -> None:
    """moto of the version in the table, or a message."""
    import importlib.metadata

    try:
        installed = importlib.metadata.version("moto")
        importlib.metadata.version("flask")
    except importlib.metadata.PackageNotFoundError:
        message = f"{server} needs moto[server] {MOTO} in this Python ({sys.executable}): run `{REQUIREMENTS}`."
        raise Missing(message) from None
    if installed != MOTO:
        message = (
            f"{server} needs moto {MOTO}, and {installed} is installed in this Python ({sys.executable}): what is put "
            f"in front of it is written for that version. Run `python -m pip install 'moto[server]=={MOTO}'`."
        )
        raise Missing(message)


def shim_command(port: int) -> Launch:
    """moto with our shim, in one Python process."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "servers.shim", "--host", HOST, "--port", str(port)]
    return Launch(command, {"PYTHONPATH": str(root), "PYTHONUNBUFFERED": "1"})


class Glue(Server):
    """Glue, STS and IAM; it also answers S3, so that one process is enough where there is nothing else."""

    def prepare(self, machine: Machine) -> None:
        """Look for moto."""
        del machine
        require_moto(self.name)

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The shim."""
        del machine, state
        return shim_command(port)

    def check(self, machine: Machine, facts: Facts) -> None:
        """List the databases."""
        glue = client("glue", facts.endpoint, machine.s3_access_key, machine.s3_secret_key)
        try:
            glue.get_databases()["DatabaseList"]
        except _botocore_errors() as problem:
            message = f"GetDatabases at {facts.endpoint}: {problem}"
            raise NotReady(message) from problem

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """One on local files, one on the object store."""
        common: Profile = {
            "backend": "glue",
            "endpoint": facts.endpoint,
            "region": REGION,
            "access_key_id": machine.s3_access_key,
            "secret_access_key": machine.s3_secret_key,
        }
        files = fresh_directory(machine.server_state(self.name).data / "warehouse")
        return {
            f"{self.name}-live": {**common, "root": str(files)},
            f"{self.name}-live-s3": {**common, "root": f"s3://{BUCKET}/{self.name}", **machine.storage_on_s3()},
        }


class ObjectStore(Server):
    """versitygw where it is built or can be, else moto's S3 with a lock around writes."""

    def _uses_versitygw(self, machine: Machine) -> bool:
        chosen = os.environ.get(CHOICE_VARIABLE, "")
        if chosen not in ("", "versitygw", "moto"):
            message = f"{CHOICE_VARIABLE} is {chosen!r}: it can be `versitygw` or `moto`."
            raise Missing(message)
        if chosen:
            return chosen == "versitygw"
        return builds.go_command_is_cached(machine.cache, VERSITYGW) or builds.has("go")

    def version(self, machine: Machine) -> str:
        """Which of the two."""
        return f"versitygw {VERSITYGW.version[1:]}" if self._uses_versitygw(machine) else f"moto {MOTO}"

    def _binary(self, machine: Machine) -> Path:
        return builds.go_command(machine.cache, self.name, VERSITYGW, self.release.disk_mib)

    def prepare(self, machine: Machine) -> None:
        """Build versitygw, or look for moto."""
        if self._uses_versitygw(machine):
            self._binary(machine)
            return
        try:
            require_moto(self.name)
        except Missing as problem:
            message = f"{problem} Or install Go, and versitygw is built instead."
            raise Missing(message) from None

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """Objects are files below the data directory."""
        if not self._uses_versitygw(machine):
            return shim_command(port)
        objects = fresh_directory(state.data / "objects")
        environment = {"ROOT_ACCESS_KEY": machine.s3_access_key, "ROOT_SECRET_KEY": machine.s3_secret_key}
        command = [str(self._binary(machine)), "--port", f"{HOST}:{port}", "--region", REGION, "posix", str(objects)]
        return Launch(command, environment, state.data)

    def check(self, machine: Machine, facts: Facts) -> None:
        """List the buckets, signed."""
        try:
            self._client(machine, facts).list_buckets()
        except _botocore_errors() as problem:
            message = f"ListBuckets at {facts.endpoint}: {problem}"
            raise NotReady(message) from problem

    def settle(self, machine: Machine, facts: Facts) -> None:
        """Make the bucket that every profile uses."""
        store = self._client(machine, facts)
        try:
            if BUCKET not in [bucket["Name"] for bucket in store.list_buckets().get("Buckets", [])]:
                store.create_bucket(Bucket=BUCKET)
        except _botocore_errors() as problem:
            message = f"{self.name} is up, but its bucket {BUCKET} could not be made: {problem}"
            raise StartFailed(message) from problem

    @staticmethod
    def _client(machine: Machine, facts: Facts) -> Any:
        return client("s3", facts.endpoint, machine.s3_access_key, machine.s3_secret_key)

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """The embedded directory namespace on the object store."""
        del facts
        return {"s3-live": {"backend": "dir", "root": f"s3://{BUCKET}/dir", **machine.storage_on_s3()}}


def _botocore_errors() -> tuple[type[Exception], ...]:
    import botocore.exceptions

    return botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError
