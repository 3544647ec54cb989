// share, limit: 240
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PROBLEMS } from '../../api/http/problem.ts';
import { arbitraryOf, schemaErrors } from '../fixtures/json-schema.ts';
import { openShare } from '../fixtures/share.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import type { TestPlatform } from '../fixtures/users.ts';
import { type Described, startDocumented } from './documented-operations.ts';
import { createResources, namedIn, pathOf, type Resources } from './existing-resources.ts';

const share = openShare();
const { seed } = share;

const { p, document, schemas, described } = await startDocumented();

/** Returns how many random requests an operation gets. */
const runsOf = (method: string, { requestBody }: Described): number => {
  if (requestBody) return 10;
  // Deletions have no body, so their requests hardly differ. The second one finds what the first one has deleted.
  return method === 'delete' ? 2 : 8;
};

/** An operation under test. `name` has its method and path. */
type Tried = { readonly name: string; readonly path: string; readonly method: string; readonly operation: Described };

type Sent = { query: Record<string, unknown>; body: unknown };

const WRONG = [null, true, -1, 1.5, 1e15, '', 'x'.repeat(2_000), 'né\u202e', [], {}, ['x'], { x: 1 }];

/**
 * Generates bodies that are almost valid: one field is missing, one unknown field is added, or one field has the wrong
 * type.
 */
const almostValid = (body: unknown): fc.Arbitrary<Sent['body']> => {
  const fields = Object.entries((body ?? {}) as Record<string, unknown>);
  const more = fc.constant(Object.fromEntries([...fields, ['is_seed', true]]));
  if (fields.length === 0) return more;
  const place = fc.nat(fields.length - 1);
  const less = place.map((gone) => Object.fromEntries(fields.filter((_, index) => index !== gone)));
  const other = fc
    .tuple(place, fc.constantFrom(...WRONG))
    .map(([changed, value]) => Object.fromEntries(fields.map(([name, one], index) => [name, index === changed ? value : one])));
  return fc.oneof(more, less, other, fc.constantFrom<unknown>(...WRONG));
};

const requests = (operation: Described, of: Resources): fc.Arbitrary<Sent> => {
  const parameters = (operation.parameters ?? []).filter((one) => one.in === 'query');
  const named = namedIn(of);
  const fields = parameters.map(({ name, schema }) => [name, named(name) ?? arbitraryOf(schema, schemas, named)] as const);
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  const all = fc.record(Object.fromEntries(fields), { requiredKeys: required });
  const least = fc.record(Object.fromEntries(fields.filter(([name]) => required.includes(name))));
  const query = fc.oneof(least, all);
  const json = operation.requestBody?.content['application/json']?.schema;
  const body = json ? arbitraryOf(json, schemas, namedIn(of)) : fc.constant(undefined);
  const right = fc.record({ query, body });
  if (!json) return right;
  return fc.oneof(
    right,
    right.chain((sent) => almostValid(sent.body).map((changed) => ({ ...sent, body: changed }))),
  );
};

const checkProblem = (name: string, { status, body, headers, text }: Answer): void => {
  assert.is(headers.get('content-type'), 'application/problem+json', `${name}: ${text}`);
  assert.equal(schemaErrors(schemas.Problem!, body, schemas), [], `${name}: ${text}`);
  const { code, status: sent, request_id } = body as { code: keyof typeof PROBLEMS; status: number; request_id: string };
  assert.equal([sent, PROBLEMS[code].status, request_id], [status, status, headers.get('x-request-id')], name);
};

const checkAnswer = (name: string, operation: Described, answer: Answer): void => {
  const { status, text, body, headers } = answer;
  assert.ok(status < 500, `${name} ${status}: ${text}`);
  if (status >= 300) {
    assert.ok(operation.responses[status], `${name} answers ${status}, which the document does not know: ${text}`);
    checkProblem(name, answer);
    return;
  }
  const declared = operation.responses[status];
  assert.ok(declared, `${name} answers ${status}, which the document does not know`);
  const schema = declared.content?.['application/json']?.schema;
  assert.is(schema === undefined, text === '', name);
  for (const header of Object.keys(document.components.headers!))
    assert.ok(
      !headers.has(header) || declared.headers?.[header],
      `${name} answers ${status} with ${header}, which the document does not know`,
    );
  assert.is(headers.has('ETag'), 'ETag' in (declared.headers ?? {}), `${name} ${status}: its ETag is as the document says`);
  if (schema) assert.equal(schemaErrors(schema, body, schemas), [], `${name} ${status}: ${text.slice(0, 500)}`);
};

const ask = async (p: TestPlatform, method: string, path: string, { query, body }: Sent): Promise<Answer> => {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return p.send(method.toUpperCase(), search ? `${path}?${search}` : path, body === undefined ? {} : { body });
};

/**
 * Parts of the names of operations that cannot succeed in this test. These operations need a message broker, Postgres,
 * a runner key, a signed audit log head, a blocked delivery, an approval or a session that has ended.
 */
const NEVER_SUCCESSFUL = [
  'runner-credentials',
  '/admin/projections/',
  'post /tenant/{tenant_id}/agents/{agent_id}/credential-requests',
  '/skills/author',
  '/runtime',
  '/audit-logs/proof',
  '{session_id}/complete',
  '{session_id}/fail',
  'put /tenant/{tenant_id}/sessions/{session_id}/draft',
  'budget/reserve',
  '{reservation_id}/settle',
  '{delivery_id}/attempts',
  '{delivery_id}/release',
  '{session_id}/continue',
  '{message_id}/approval',
  '{message_id}/decision',
];

const maySucceed = ({ name }: Tried): boolean => !NEVER_SUCCESSFUL.some((part) => name.includes(part));

const MISSING = `c${'0'.repeat(24)}`;

/**
 * Generates sample requests. Those with the fewest query parameters come first, because they are most likely to
 * succeed.
 */
const sampled = (operation: Described, of: Resources): Sent[] => {
  const size = ({ query }: Sent) => Object.keys(query).length;
  return fc.sample(requests(operation, of), { seed, numRuns: 20 }).sort((a, b) => size(a) - size(b));
};

/**
 * Returns a list with one request, whose body is the example of the OpenAPI document; an empty list if there is no
 * example. In an example that is an object, ids are replaced by ids of existing resources.
 */
const documented = (operation: Described, of: Resources): Sent[] => {
  const example = operation.requestBody?.content['application/json']?.example;
  if (typeof example !== 'object' || example === null) return [];
  if (Array.isArray(example)) return [{ query: {}, body: example }];
  const idOf = (name: string): unknown => fc.sample(namedIn(of)(name) ?? fc.constant(undefined), { seed, numRuns: 1 })[0];
  return [{ query: {}, body: Object.fromEntries(Object.entries(example).map(([name, value]) => [name, idOf(name) ?? value])) }];
};

/**
 * Replaces each id in the path by an unknown one, one at a time, and checks that the request is refused with 404 or
 * 422.
 */
const checkUnknownIds = async ({ name, path, method, operation }: Tried, of: Resources): Promise<void> => {
  const [sent] = sampled(operation, of);
  // Skip the connector: it can have any name, so no name is unknown.
  for (const id of (path.match(/\{\w+\}/g) ?? []).filter((id) => id !== '{connector}')) {
    const answer = await ask(p, method, pathOf(p, path.replace(id, MISSING), of), sent!);
    assert.ok([404, 422].includes(answer.status), `${name} without ${id} answers ${answer.status}: ${answer.text}`);
    assert.ok(operation.responses[answer.status], `${name} answers ${answer.status}, which the document does not know`);
    checkProblem(name, answer);
  }
};

/** If an operation has accepted none of its sample requests, it gets up to this number of further requests. */
const MORE_REQUESTS = 300;

/**
 * Sends more random requests, up to MORE_REQUESTS, and returns whether the operation accepts one of them. This is
 * needed because some operations accept so few of the values that their schemas allow that all sample requests may be
 * refused.
 */
const acceptsOneOfMany = async ({ name, path, method, operation }: Tried, of: Resources): Promise<boolean> => {
  for (const sent of fc.sample(requests(operation, of), { seed: seed + 1, numRuns: MORE_REQUESTS })) {
    const answer = await ask(p, method, pathOf(p, path, of), sent);
    checkAnswer(name, operation, answer);
    if (answer.status < 300) return true;
  }
  return false;
};

const tried = share.casesOf(
  described
    .filter(({ operation }) => operation.operationId in p.operations)
    .map((one): Tried => ({ ...one, name: `${one.method} ${one.path}` })),
  ({ name }) => name,
  ({ method }) => method,
);

const counts: Record<number, number> = {};

/** Sends the sample requests of an operation. @returns how many of them were accepted */
const sendSamples = async ({ name, path, method, operation }: Tried, of: Resources): Promise<number> => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(requests(operation, of), async (sent) => {
      const answer = await ask(p, method, pathOf(p, path, of), sent);
      counts[answer.status] = (counts[answer.status] ?? 0) + 1;
      if (answer.status < 300) accepted++;
      checkAnswer(name, operation, answer);
    }),
    {
      seed,
      numRuns: runsOf(method, operation),
      examples: [...documented(operation, of), ...sampled(operation, of).slice(0, 2)].map((sent) => [sent]),
      includeErrorInReport: true,
    },
  );
  return accepted;
};

share.test('every operation responds to valid and almost valid requests as documented', async () => {
  const never: string[] = [];
  const forReads = await createResources(p);
  // Creating resources takes much longer than the requests of an operation. So operations that change something share them,
  // until one is refused: an earlier one may have removed what it needs.
  let [forChanges, areNew] = [await createResources(p), true];
  for (const one of tried) {
    const { name, path, method } = one;
    // First with an unknown id, because the accepted samples of a DELETE remove what a known id names.
    const send = async (of: Resources): Promise<number> => {
      if (path.includes('_id}') || path.includes('{id}')) await checkUnknownIds(one, of);
      return sendSamples(one, of);
    };
    let accepted = await send(method === 'get' ? forReads : forChanges);
    if (accepted === 0 && method !== 'get' && !areNew && maySucceed(one)) {
      forChanges = await createResources(p);
      accepted = await send(forChanges);
    }
    const of = method === 'get' ? forReads : forChanges;
    if (accepted === 0 && maySucceed(one) && !(await acceptsOneOfMany(one, of))) never.push(name);
    areNew &&= method === 'get';
  }
  console.log(JSON.stringify(counts));
  assert.equal(never, []);
  assert.equal(p.unappliedEvents(), []);
});

test.run();
