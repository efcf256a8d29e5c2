"""What a bucket answers when something is wrong, in a sentence of ours.

The client's own message quotes the store's answer, in which S3 repeats the access key and the
string that was signed (SignatureDoesNotMatch). So of it only the HTTP status and the error's code
are taken, and the message is not chained.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore.exceptions import BaseError

from prime_cli.core.errors import PrimeError, StorageFailed, Unreachable

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_ANSWER = re.compile(r"HTTP error|error sending request|response body", re.IGNORECASE)
_REFUSED = (401, 403)


@contextmanager
def bucket_errors(bucket: str) -> Iterator[None]:
    """Turn what the S3 client raises into StorageFailed or Unreachable; FileNotFoundError passes,
    which stands for an object that is not there.
    """
    try:
        yield
    except BaseError as error:
        raise bucket_failure(bucket, str(error)) from None


def bucket_failure(bucket: str, message: str) -> PrimeError:
    """The failure that a message of the S3 client stands for."""
    head = message.partition("\n\nDebug source:")[0]
    status = _STATUS.search(head)
    code = _CODE.search(head)
    named = f" {code[1]}" if code else ""
    if status is not None:
        return _answered(bucket, int(status[1]), named)
    if _NO_ANSWER.search(head):
        return Unreachable(
            f"The bucket {bucket} gives no answer",
            hint="try again; if it lasts, look at AWS_ENDPOINT_URL and at the object store",
        )
    return StorageFailed(f"The bucket {bucket} failed{named}", hint="try again")


def _answered(bucket: str, status: int, named: str) -> PrimeError:
    if status in _REFUSED:
        return StorageFailed(
            f"The bucket {bucket} refuses the hub's keys (HTTP {status}{named})",
            hint="look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the policy",
        )
    if "NoSuchBucket" in named:
        return StorageFailed(
            f"There is no bucket {bucket}",
            hint="make it, or look at AWS_ENDPOINT_URL and AWS_REGION",
        )
    return StorageFailed(
        f"The bucket {bucket} failed (HTTP {status}{named})", hint="try again in a minute"
    )
