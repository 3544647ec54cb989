import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf, plainPaths } from '../../api/areas.ts';
import { openapi } from '../../api/http/openapi.ts';
import { PROBLEMS } from '../../api/http/problem.ts';
import { type Schema, type Schemas, schemaErrors } from '../fixtures/json-schema.ts';

type Example = { readonly value: { readonly code: keyof typeof PROBLEMS; readonly status: number } };
type Media = { readonly schema: Schema; readonly example?: unknown; readonly examples?: Readonly<Record<string, Example>> };
type Content = Readonly<Record<string, Media>>;
type Described = {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly $ref?: string; readonly name: string; readonly description?: string }[];
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
};
type Document = {
  readonly info: { readonly description: string; readonly license: { readonly name: string } };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Schemas; readonly responses: Readonly<Record<string, { readonly content: Content }>> };
};

const operations = operationsOf({} as Parameters<typeof operationsOf>[0]);
const document = JSON.parse(JSON.stringify(openapi(operations, plainPaths, 'http://annals.test'))) as Document;
const { schemas, responses } = document.components;
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, name: `${method} ${path}`, operation })),
);

/** Returns whether requests to this route are limited: by a rate limit, or by the number of failed sign-ins. */
const isLimited = (path: string, { security, operationId }: Described): boolean =>
  security === undefined ||
  security.some((way) => 'bearer' in way) ||
  // A redirect reads nothing, so it is not limited.
  (operationId !== 'openInvitation' && /^\/(hooks\/(inbound|skills)\/|invitations\/|auth\/(link|key)$)/.test(path)) ||
  path === '/auth/callback' ||
  path === '/integrations/callback';

/**
 * Media types that need no example. Their bodies are web pages, scripts or arbitrary bytes, or their examples are
 * checked by another test.
 */
const WITHOUT_EXAMPLE = ['text/html', 'text/javascript', '*/*', 'application/problem+json'];

/** The JSON bodies of all requests and responses, each with the operation and the place where it occurs. */
const jsonBodies = described.flatMap(({ name, operation: { requestBody, responses } }) =>
  [['request', requestBody] as const, ...Object.entries(responses)].flatMap(([place, body]) =>
    Object.entries(body?.content ?? {})
      .filter(([type]) => type === 'application/json')
      .map(([, media]) => ({ place: `${name} ${place}`, media })),
  ),
);

test('every JSON body has an example that matches the schema of the body', () => {
  assert.ok(jsonBodies.length > 100);
  const faults = jsonBodies.flatMap(({ place, media: { schema, example } }) =>
    example === undefined ? [`${place}: has no example`] : schemaErrors(schema, example, schemas).map((error) => `${place}${error}`),
  );
  assert.equal(faults, []);
});

test('every request or response body that is not JSON has an example, unless this test exempts its content type', () => {
  const missing = described.flatMap(({ name, operation: { requestBody, responses } }) =>
    [requestBody, ...Object.values(responses)]
      .flatMap((body) => Object.entries(body?.content ?? {}))
      .filter(([type, { example }]) => !WITHOUT_EXAMPLE.includes(type) && example === undefined)
      .map(([type]) => `${name} ${type}`),
  );
  assert.equal(missing, []);
});

/** Fields that need no description, because their names are clear enough. */
const SELF_EXPLANATORY = ['name', 'email', 'created_at', 'updated_at'];

/** Returns the JSON pointers of all fields in a schema that lack a description. */
const undescribed = (schema: Schema, at: string): string[] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    ...((field as { description?: string }).description || SELF_EXPLANATORY.includes(name) ? [] : [`${at}/${name}`]),
    ...undescribed(field, `${at}/${name}`),
  ]),
  ...[schema.items, ...(schema.anyOf ?? [])].flatMap((one) => (one ? undescribed(one, at) : [])),
];

test('every field and parameter has a description, except fields whose names are self-explanatory', () => {
  const fields = [
    ...Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name)),
    ...jsonBodies.flatMap(({ place, media }) => undescribed(media.schema, place)),
  ];
  const parameters = described.flatMap(({ name, operation }) =>
    (operation.parameters ?? []).filter((one) => !one.$ref && !one.description).map((one) => `${name} ${one.name}`),
  );
  assert.equal([...fields, ...new Set(parameters)], []);
});

/** Returns a schema, or the component to which it refers, with the schemas between which a body can choose. */
const choicesOf = (schema: Schema): readonly Schema[] => {
  const own = schema.$ref ? schemas[schema.$ref.split('/').at(-1)!]! : schema;
  return own.anyOf ? own.anyOf.flatMap(choicesOf) : [own];
};
const isNull = (field: Schema | undefined): boolean => choicesOf(field ?? {}).some(({ type }) => [type].flat().includes('null'));

test('the response to a dry run has its own type, and no resource can have an id that is null', () => {
  const dryRuns = described.filter(({ operation: { requestBody } }) =>
    Object.values(requestBody?.content ?? {}).some(({ schema }) => choicesOf(schema).some(({ properties }) => properties?.dry_run)),
  );
  assert.ok(dryRuns.length >= 2);
  const isDryRun = (schema: Schema): boolean => (schema.properties?.status as { const?: unknown } | undefined)?.const === 'dry_run';
  for (const { name, operation } of dryRuns) {
    const replies = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    const choices = replies.flatMap(([, { content = {} }]) => Object.values(content).flatMap(({ schema }) => choicesOf(schema)));
    assert.is(choices.filter(isDryRun).length, 1, name);
    assert.is(choices.filter(({ properties }) => JSON.stringify(properties?.status).includes('dry_run')).length, 1, name);
  }
  const withoutId = Object.entries(schemas).filter(([, schema]) => isNull(schema.properties?.id) && !isDryRun(schema));
  assert.equal(
    withoutId.map(([name]) => name),
    [],
  );
});

test('the summary of every operation has at most 48 characters and contains no semicolon', () => {
  const long = described.filter(({ operation: { summary } }) => summary.length > 48 || summary.includes(';'));
  assert.equal(
    long.map(({ name, operation }) => `${name}: ${operation.summary}`),
    [],
  );
});

test('every tag is described and used by an operation; no tag is called Models, because /docs has a heading of that name for the schemas', () => {
  const used = new Set(described.flatMap(({ operation }) => operation.tags));
  assert.equal(document.tags.map(({ name }) => name).sort(), [...used].sort());
  for (const { name, description } of document.tags) assert.ok(description.length > 20 && name !== 'Models', name);
});

test('the introduction of the OpenAPI document explains keys, errors, paging, ETags, idempotency, consistency, as-of reads and rate limits', () => {
  for (const subject of ['Authorization', 'problem', 'Link', 'If-Match', 'Idempotency-Key', 'Consistency-Token', 'as_of', 'Retry-After'])
    assert.ok(document.info.description.includes(subject), subject);
  assert.is(document.info.license.name, 'MIT');
});

test('the status 429 is documented for every rate-limited route, and for no other route', () => {
  for (const { path, name, operation } of described) assert.is('429' in operation.responses, isLimited(path, operation), name);
});

test('every problem response of the OpenAPI document is a shared component, and its examples show exactly the problem codes that have its status', () => {
  for (const { name, operation } of described)
    for (const [status, { $ref, content = {} }] of Object.entries(operation.responses)) {
      if (/^[123]/.test(status) || !('application/problem+json' in content || $ref)) continue;
      const { examples = {} } = responses[$ref!.replace('#/components/responses/', '')]!.content['application/problem+json']!;
      const codes = Object.values(examples).map(({ value }) => value.code);
      assert.ok(codes.length > 0, `${name} ${status}`);
      if (status === 'default') continue;
      const expected = Object.entries(PROBLEMS).filter(([, problem]) => problem.status === Number(status));
      assert.equal(
        codes,
        expected.map(([code]) => code),
      );
    }
});

test('every example of a problem matches the schema of problems and has the status of its code', () => {
  const examples = Object.values(responses).flatMap(({ content }) => Object.values(content['application/problem+json']!.examples ?? {}));
  assert.ok(examples.length >= Object.keys(PROBLEMS).length);
  for (const { value } of examples) {
    assert.equal(schemaErrors(schemas.Problem!, value, schemas), []);
    assert.is(value.status, PROBLEMS[value.code].status);
  }
});

test.run();
