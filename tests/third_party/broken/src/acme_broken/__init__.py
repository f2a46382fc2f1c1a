"""What a plugin looks like whose SDK is missing."""

import acme_sdk_that_nobody_has  # noqa: F401
