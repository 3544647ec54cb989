"""A client of the HTTP API of Annals. It needs Python 3.9 or later and no other package.

    from annals import Annals
    annals = Annals()                                   # ANNALS_URL and ANNALS_KEY, or Annals(url=..., key=...)
    tenant_id = annals.call('readMe')['tenants'][0]['id']
    for agent in annals.each('listAgents', {'tenant_id': tenant_id}):
        print(agent['name'])

Before the first call, it reads the operations from /openapi.json, so it suits the version of the platform.
`python3 annals.py types > annals_types.py` writes the types of all operations for mypy and pyright (Python 3.11 or later).
"""

from __future__ import annotations

import http.client
import json
import keyword
import os
import random
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Optional

TEMPORARY_STATUSES = (408, 429, 502, 503, 504)
MAX_WAIT_SECONDS = 60.0
TIMEOUT_SECONDS = 30.0
RETRIES = 4


class Problem(Exception):
    """A refused request. `code` is for programs, `detail` for people; `errors` names each wrong value by a JSON pointer."""

    def __init__(self, operation: str, status: int, document: Mapping[str, Any], retry_after: Optional[float]) -> None:
        self.operation = operation
        self.status = status
        self.document = document
        self.code = str(document.get('code', 'unknown'))
        self.detail = str(document.get('detail', f'The response has the status {status}'))
        self.request_id = document.get('request_id')
        self.errors = list(document.get('errors', []))
        self.retry_after = retry_after
        super().__init__(f'{operation}: {self.detail} ({self.code}, status {status}, request {self.request_id})')


@dataclass(frozen=True)
class Answer:
    """The reply of an operation with what its headers say. `value` is None if there is no body, and bytes for a file."""

    value: Any
    status: int
    headers: Mapping[str, str]

    @property
    def etag(self) -> Optional[str]:
        """The revision of the resource, for `if_match`."""
        return self.headers.get('etag')

    @property
    def position(self) -> Optional[str]:
        """Where in the log a change is, or up to where a read is complete."""
        return self.headers.get('consistency-token') or self.headers.get('projection-position')


@dataclass(frozen=True)
class _Operation:
    name: str
    method: str
    path: str
    in_path: tuple[str, ...]
    in_query: tuple[str, ...]
    has_body: bool
    is_form: bool
    is_json: bool
    takes_key: bool
    takes_token: bool


def _content(described: Mapping[str, Any]) -> Mapping[str, Any]:
    return described.get('content', {})


def _has_header(described: Mapping[str, Any], header: str) -> bool:
    wanted = (header, header.replace('-', ''))
    return any(str(one.get('name') or one.get('$ref', '').split('/')[-1]) in wanted for one in described.get('parameters', []))


def _operation(method: str, path: str, described: Mapping[str, Any]) -> _Operation:
    parameters = described.get('parameters', [])
    body = described.get('requestBody', {})
    successes = [reply for status, reply in described['responses'].items() if status.startswith('2')]
    return _Operation(
        name=described['operationId'],
        method=method.upper(),
        path=path,
        in_path=tuple(re.findall(r'\{(\w+)\}', path)),
        in_query=tuple(one['name'] for one in parameters if one.get('in') == 'query'),
        has_body=bool(body),
        is_form='multipart/form-data' in _content(body),
        is_json=any('application/json' in _content(reply) for reply in successes),
        takes_key=_has_header(described, 'Idempotency-Key'),
        takes_token=_has_header(described, 'Consistency-Token'),
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: it would send the key to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _multipart(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """Returns the body and the content type of an upload. The field of the file is bytes, or a pair of its name and bytes."""
    boundary = uuid.uuid4().hex
    parts = []
    for name, value in sorted(fields.items(), key=lambda field: isinstance(field[1], (bytes, tuple))):
        if value is None:
            continue
        file = value if isinstance(value, tuple) else ('file', value) if isinstance(value, bytes) else None
        # Browsers escape these characters alone in the names of files.
        escaped = '' if file is None else file[0].replace('"', '%22').replace('\r', '%0D').replace('\n', '%0A')
        about = '' if file is None else f'; filename="{escaped}"'
        content = _text(value).encode() if file is None else file[1]
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{about}\r\n\r\n'
        parts.append(head.encode() + content + b'\r\n')
    return b''.join(parts) + f'--{boundary}--\r\n'.encode(), f'multipart/form-data; boundary={boundary}'


def _retry_after(headers: Mapping[str, str]) -> Optional[float]:
    text = headers.get('retry-after', '')
    return float(text) if re.fullmatch(r'\d+(\.\d+)?', text) else None


def _next_cursor(headers: Mapping[str, str]) -> Optional[str]:
    found = re.search(r'<([^>]+)>; rel="next"', headers.get('link', ''))
    query = urllib.parse.urlsplit(found.group(1)).query if found else ''
    return urllib.parse.parse_qs(query).get('cursor', [None])[0]


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


class Annals:
    """Calls operations by their names, as /openapi.json and /docs list them, with path, query and body fields in one mapping.

    A body that is a list is the field `items`. What fails for a temporary reason is repeated, at most `retries` times, as
    Retry-After says; changes get an Idempotency-Key, so that a repeat acts once. Reads contain the client's own earlier
    changes. One client serves one thread.
    """

    def __init__(
        self, url: Optional[str] = None, key: Optional[str] = None, *, timeout: float = TIMEOUT_SECONDS, retries: int = RETRIES
    ) -> None:
        self.url = (url or os.environ.get('ANNALS_URL', '')).rstrip('/')
        if not self.url:
            raise ValueError('ANNALS_URL is not set')
        self._key = (key or os.environ.get('ANNALS_KEY', '')).strip()
        self._timeout = timeout
        self._retries = retries
        self._token: Optional[str] = None
        self._known: Optional[dict[str, _Operation]] = None
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(self, operation: str, fields: Optional[Mapping[str, Any]] = None, /, **options: Any) -> Any:
        """Returns the reply of an operation. The options are those of `ask`. Raises Problem if it is refused."""
        return self.ask(operation, fields, **options).value

    def ask(
        self,
        operation: str,
        fields: Optional[Mapping[str, Any]] = None,
        /,
        *,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Answer:
        """Returns the reply with ETag and position. `timeout` is in seconds. Raises Problem, or OSError without an answer."""
        target = self._operation(operation)
        sent = {'if-match': if_match, 'idempotency-key': idempotency_key, **{name.lower(): text for name, text in (headers or {}).items()}}
        request, retries = self._request(target, fields or {}, {name: text for name, text in sent.items() if text is not None})
        status, received, body = self._send(request, retries, timeout or self._timeout)
        if not 200 <= status < 300:
            raise Problem(operation, status, _document(body), _retry_after(received))
        self._token = received.get('consistency-token') or self._token
        value = json.loads(body) if target.is_json and body else body or None
        return Answer(value, status, received)

    def each(self, operation: str, fields: Optional[Mapping[str, Any]] = None, /, **options: Any) -> Iterator[Any]:
        """Yields the items of a list, from all its pages."""
        answer = self.ask(operation, fields, **options)
        yield from answer.value
        while (cursor := _next_cursor(answer.headers)) is not None:
            answer = self.ask(operation, {**(fields or {}), 'cursor': cursor}, **options)
            yield from answer.value

    def stream(self, operation: str, fields: Optional[Mapping[str, Any]] = None, /) -> http.client.HTTPResponse:
        """Returns the open response of an operation, such as a stream of changes. The caller reads and closes it.

        Raises Problem if it is refused; opening it is not repeated.
        """
        request, _ = self._request(self._operation(operation), fields or {}, {})
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                headers = {name.lower(): text for name, text in error.headers.items()}
                raise Problem(operation, error.code, _document(error.read()), _retry_after(headers)) from None

    def document(self) -> Mapping[str, Any]:
        """Returns the OpenAPI document of the platform."""
        status, headers, body = self._send(urllib.request.Request(f'{self.url}/openapi.json'), self._retries, self._timeout)
        if status != 200:
            raise Problem('readOpenApi', status, _document(body), _retry_after(headers))
        return json.loads(body)

    def _operation(self, name: str) -> _Operation:
        if self._known is None:
            paths = self.document()['paths'].items()
            found = [_operation(method, path, described) for path, methods in paths for method, described in methods.items()]
            self._known = {operation.name: operation for operation in found}
        if name not in self._known:
            raise ValueError(f'The platform at {self.url} has no operation {name}: it may be of another version')
        return self._known[name]

    def _request(self, target: _Operation, fields: Mapping[str, Any], headers: dict[str, str]) -> tuple[urllib.request.Request, int]:
        missing = [name for name in target.in_path if fields.get(name) in (None, '')]
        if missing:
            raise ValueError(f'{target.name} needs {", ".join(missing)}')
        path = re.sub(r'\{(\w+)\}', lambda found: urllib.parse.quote(_text(fields[found.group(1)]), safe=''), target.path)
        rest = {name: value for name, value in fields.items() if name not in target.in_path}
        in_query = {name: _text(value) for name, value in rest.items() if value is not None and (not target.has_body or name in target.in_query)}
        in_body = {name: value for name, value in rest.items() if name not in target.in_query}
        if target.takes_key and 'idempotency-key' not in headers:
            headers['idempotency-key'] = str(uuid.uuid4())
        if target.takes_token and self._token is not None and 'as_of' not in fields:
            headers.setdefault('consistency-token', self._token)
        if self._key:
            headers['authorization'] = f'Bearer {self._key}'
        body = None
        if target.is_form:
            body, headers['content-type'] = _multipart(in_body)
        elif target.has_body:
            body, headers['content-type'] = json.dumps(in_body.get('items', in_body)).encode(), 'application/json'
        url = f'{self.url}{path}' + (f'?{urllib.parse.urlencode(in_query)}' if in_query else '')
        retries = self._retries if target.method != 'POST' or target.takes_key else 0
        return urllib.request.Request(url, body, headers, method=target.method), retries

    def _send(self, request: urllib.request.Request, retries: int, timeout: float) -> tuple[int, Mapping[str, str], bytes]:
        for attempt in range(retries + 1):
            wait: Optional[float] = None
            try:
                status, headers, body = self._send_once(request, timeout)
                wait = _retry_after(headers)
                is_temporary = status in TEMPORARY_STATUSES or (status == 409 and wait is not None)
                if not is_temporary or attempt == retries or (wait or 0) > MAX_WAIT_SECONDS:
                    return status, headers, body
            except (OSError, http.client.HTTPException):
                if attempt == retries:
                    raise
            time.sleep(min(0.25 * 2**attempt, 10) * random.uniform(0.75, 1.25) if wait is None else wait)
        raise AssertionError('unreachable')

    def _send_once(self, request: urllib.request.Request, timeout: float) -> tuple[int, Mapping[str, str], bytes]:
        try:
            with self._opener.open(request, timeout=timeout) as response:
                return response.status, {name.lower(): text for name, text in response.headers.items()}, response.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, {name.lower(): text for name, text in refused.headers.items()}, refused.read()


def _name_of(reference: str) -> str:
    return reference.split('/')[-1]


class _Types:
    """Writes schemas as types of Python. Objects inside other objects get names of their own."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.schemas: Mapping[str, Any] = document['components']['schemas']
        self.parameters: Mapping[str, Any] = document['components'].get('parameters', {})
        self.lines: list[str] = []
        self.taken = set(self.schemas)

    def type_of(self, schema: Mapping[str, Any], name: str) -> str:
        if '$ref' in schema:
            return f"'{_name_of(schema['$ref'])}'"
        if 'const' in schema or 'enum' in schema:
            return f"Literal[{', '.join(repr(value) for value in schema.get('enum', [schema.get('const')]))}]"
        if 'anyOf' in schema:
            return self.union([self.type_of(one, f'{name}{index or ""}') for index, one in enumerate(schema['anyOf'])])
        kinds = schema.get('type', [])
        return self.union([self.simple(kind, schema, name) for kind in ([kinds] if isinstance(kinds, str) else kinds)] or ['Any'])

    def union(self, members: list[str]) -> str:
        different = list(dict.fromkeys(members))
        return different[0] if len(different) == 1 else f"Union[{', '.join(different)}]"

    def simple(self, kind: str, schema: Mapping[str, Any], name: str) -> str:
        if kind == 'array':
            return f"list[{self.type_of(schema.get('items', {}), name + 'Item')}]"
        if kind == 'object' and schema.get('properties'):
            return f"'{self.add(name, schema)}'"
        if kind == 'object':
            values = schema.get('additionalProperties', True)
            return f"dict[str, {self.type_of(values, name + 'Value') if isinstance(values, dict) else 'Any'}]"
        if kind == 'string':
            return 'bytes' if schema.get('format') == 'binary' else 'str'
        return {'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}[kind]

    def add(self, name: str, schema: Mapping[str, Any]) -> str:
        free = name
        while free in self.taken:
            free += '_'
        self.taken.add(free)
        self.define(free, schema)
        return free

    def define(self, name: str, schema: Mapping[str, Any]) -> None:
        if not schema.get('properties'):
            self.lines.append(f'{name} = {self.type_of(schema, name + "Value")}\n')
            return
        required = schema.get('required', [])
        rows = []
        for field, one in schema['properties'].items():
            type_ = self.type_of(one, f"{name}{''.join(word.capitalize() for word in re.split(r'[^a-zA-Z0-9]+', field))}")
            rows.append(f"    {field!r}: {type_ if field in required else f'NotRequired[{type_}]'},")
        self.lines.append(f'{name} = TypedDict({name!r}, {{\n' + '\n'.join(rows) + '\n})\n')

    def fields_of(self, described: Mapping[str, Any]) -> str:
        """Defines the mapping that an operation takes. Returns it as a parameter; an empty text if it takes nothing."""
        parameters = [self.parameters[_name_of(one['$ref'])] if '$ref' in one else one for one in described.get('parameters', [])]
        shown = [one for one in parameters if one['in'] in ('path', 'query')]
        content = _content(described.get('requestBody', {}))
        schema = (content.get('application/json') or content.get('multipart/form-data') or {}).get('schema', {})
        body = self.schemas[_name_of(schema['$ref'])] if '$ref' in schema else schema
        if body.get('type') == 'array':
            body = {'properties': {'items': schema}, 'required': ['items']}
        properties = {**{one['name']: one['schema'] for one in shown}, **body.get('properties', {})}
        if not properties:
            return ''
        required = [one['name'] for one in shown if one.get('required')] + body.get('required', [])
        name = described['operationId']
        fields = self.add(f'{name[0].upper()}{name[1:]}Fields', {'properties': properties, 'required': required})
        return f", fields: '{fields}'" + ('' if required else ' = ...')

    def reply_of(self, described: Mapping[str, Any]) -> str:
        successes = [reply for status, reply in described['responses'].items() if status.startswith('2')]
        schemas = [_content(reply)['application/json'].get('schema', {}) for reply in successes if 'application/json' in _content(reply)]
        name = f"{described['operationId'][0].upper()}{described['operationId'][1:]}Reply"
        if schemas:
            return self.union([self.type_of(schema, name) for schema in schemas])
        return 'bytes' if any(_content(reply) for reply in successes) else 'None'


def types_of(document: Mapping[str, Any]) -> str:
    """Returns a module with the types of all schemas, and the class `TypedAnnals`, whose `call` knows each operation."""
    types = _Types(document)
    for name, schema in types.schemas.items():
        assert name.isidentifier() and not keyword.iskeyword(name), name
        types.define(name, schema)
    calls = []
    for described in (described for methods in document['paths'].values() for described in methods.values()):
        fields, reply = types.fields_of(described), types.reply_of(described)
        calls.append(f"    @overload\n    def call(self, operation: Literal[{described['operationId']!r}]{fields}, /, **options: Any) -> {reply}: ...\n")
    return '\n'.join([
        '# Written by `python3 annals.py types`.',
        'from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, Union, overload',
        'from annals import Annals\n',
        *types.lines,
        'class TypedAnnals(Annals):',
        '    if TYPE_CHECKING:',
        *('\n'.join('    ' + line for line in call.splitlines()) for call in calls),
        '        def call(self, operation: Any, fields: Any = None, /, **options: Any) -> Any: ...\n',
    ])


if __name__ == '__main__':
    if sys.argv[1:] != ['types']:
        sys.exit('usage: python3 annals.py types > annals_types.py')
    print(types_of(Annals().document()), end='')
