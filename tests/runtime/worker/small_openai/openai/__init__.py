"""As much of openai as a worker and the small verifiers touch: the real one takes 1.5 s to import.

What depends on its errors, its retries or its other clients is tested with the real one.
"""

from openai import _base_client as _base_client


class APIStatusError(Exception):
    def __init__(self, response):
        super().__init__(f"Error code: {response.status_code} - {response.text}")
        self.response = response
        self.status_code = response.status_code


class Record:
    """An object of an answer: its fields are attributes."""

    def __init__(self, fields):
        self._fields = fields
        for name, value in fields.items():
            setattr(self, name, _record(value))

    def model_dump(self, **options):
        return self._fields


def _record(value):
    if isinstance(value, list):
        return [_record(each) for each in value]
    return Record({"tool_calls": None} | value) if isinstance(value, dict) else value


class AsyncOpenAI:
    def __init__(self, base_url, api_key, http_client, max_retries):
        self.base_url = base_url
        self.api_key = api_key
        self.chat = self.completions = self
        self._http = http_client

    async def create(self, model, messages, **sampling):
        answer = await self._http.post(
            f"{self.base_url}/chat/completions",
            json={"model": model, "messages": messages, **sampling},
            headers={"authorization": f"Bearer {self.api_key}"},
        )
        if answer.is_error:
            raise APIStatusError(answer)
        return _record(answer.json())

    async def close(self):
        await self._http.aclose()
