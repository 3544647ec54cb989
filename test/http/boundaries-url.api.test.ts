// share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { boundaryValues, typeOf } from '../fixtures/boundary-values.ts';
import type { Schema } from '../fixtures/json-schema.ts';
import { openShare } from '../fixtures/share.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { bodyFor, type Call } from '../two-tenants/id-positions.ts';
import { pointersOf, requiredQuery, startValidCalls, UNKNOWN } from '../two-tenants/valid-calls.ts';

const share = openShare();
const { callerOf, calls, dataset, document, eventCount, idsInBody, jsonSchemaOf, pathOf, schemas } = await startValidCalls();
afterLastTest(() => dataset.close());

/** Query parameters whose values must fulfil a rule that JSON Schema does not describe, each with this rule. */
const SEMANTIC_PARAMETERS: Readonly<Record<string, string>> = {
  cursor: 'the text that a previous page returned',
  as_of: 'a time or a token',
  bom: 'only with format=csv',
  from: 'a time, or a token',
  to: 'a time, or a token',
  to_position: 'a position',
  sort: 'a field of the list',
  projection: 'the name of a projection',
  timezone: 'the name of a time zone',
  after: 'the id of an assistant',
  before: 'the id of an assistant',
};
/** Returns valid and invalid texts for a query parameter, at the limits of what its schema allows. */
const queryTexts = (schema: Schema): { text: string; isValid: boolean }[] => {
  const isNumber = ['integer', 'number'].includes(typeOf(schema) ?? '');
  const values = boundaryValues(schema, schemas).filter(({ value }) => typeof value === (isNumber ? 'number' : 'string'));
  const wrongNumbers = ['', ' 1', '1 ', '0x10', '1e2', '١', '+1', '1,0', 'NaN', '-0'].map((text) => ({ text, isValid: false }));
  return [...values.map(({ value, isValid }) => ({ text: String(value), isValid })), ...(isNumber ? wrongNumbers : [])];
};

const get = async (call: Call, query: string): Promise<Answer> =>
  dataset.send('GET', `${pathOf(call)}?${query}`, { key: dataset.keys[await callerOf(call)] });

const reads = calls.filter(({ method }) => method === 'GET');

type Value = { readonly call: Call; readonly name: string; readonly text: string; readonly isValid: boolean };

const values: readonly Value[] = reads.flatMap((call) =>
  (call.parameters ?? [])
    .filter((one) => one.in === 'query')
    .flatMap(({ name, schema }) => queryTexts(schema as Schema).map((value) => ({ call, name, ...value }))),
);

/** Returns what is wrong with the response to this value of a query parameter, or null. */
const valueFault = async ({ call, name, text, isValid }: Value): Promise<string | null> => {
  const answer = await get(call, new URLSearchParams({ ...requiredQuery(call), [name]: text }).toString());
  const isRefused = answer.status === 422 && pointersOf(answer).includes(`/query/${name}`);
  if (answer.status >= 500) return `has the status ${answer.status}`;
  if (!isValid && !isRefused) return `is not refused: ${answer.status} ${answer.text.slice(0, 200)}`;
  return isValid && isRefused && !(name in SEMANTIC_PARAMETERS) ? `is refused: ${answer.text.slice(0, 200)}` : null;
};

share.test('every query parameter accepts exactly the values that its schema in the OpenAPI document allows', async () => {
  const [accepted, refused] = [true, false].map((isValid) => values.filter((one) => one.isValid === isValid).length);
  assert.ok(accepted! > 200 && refused! > 200, `${accepted} values are valid, ${refused} are not`);
  const nameOf = ({ call, name, text }: Value) => `${call.operationId} ${name}=${text.slice(0, 40)} (${text.length})`;
  const faults: string[] = [];
  for (const one of share.casesOf(values, nameOf, ({ call, isValid }) => `${call.operationId} ${isValid}`)) {
    const fault = await valueFault(one);
    if (fault) faults.push(`${nameOf(one)} ${fault}`);
  }
  assert.equal(faults, []);
});

share.test('a request with an unknown query parameter, or one that occurs twice, gets 422, and the error names the parameter', async () => {
  const queryOf = (call: Call) => (call.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
  for (const call of reads)
    for (const name of share.casesOf([UNKNOWN, ...queryOf(call)], (one) => `${call.operationId} ${one}`)) {
      const more = name === UNKNOWN ? '' : `&${name}=2`;
      const answer = await get(call, `${new URLSearchParams({ ...requiredQuery(call), [name]: '1' })}${more}`);
      assert.is(answer.status, 422, `${call.operationId} ${name}: ${answer.text}`);
      assert.ok(pointersOf(answer).includes(`/query/${name}`), `${call.operationId} ${name}: ${answer.text}`);
      if (name === UNKNOWN) assert.is(pointersOf(answer).length, 1, `${call.operationId}: ${answer.text}`);
    }
});
const ID = `c${'0'.repeat(24)}`;
const MALFORMED = [
  ID.slice(1),
  `${ID}0`,
  ID.toUpperCase(),
  `d${ID.slice(1)}`,
  `с${ID.slice(1)}`,
  `${ID}\n`,
  `${ID}\0`,
  ` ${ID}`,
  '😀',
  'x'.repeat(2_000),
];

/**
 * Path parameters that are names instead of ids. Changing a resource with such a name creates it, so every name that
 * matches FREE_NAME is accepted.
 */
const FREE_NAMES = ['connector', 'key', 'version'];
const FREE_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

const malformedIds = calls.flatMap((call) =>
  call.idPositions
    .filter((one) => one.in === 'path')
    .flatMap(({ name }) =>
      MALFORMED.filter((one) => !FREE_NAMES.includes(name) || !FREE_NAME.test(one)).map((text) => ({ call, name, text })),
    ),
);

share.test('a request with a malformed id or name in the path gets 404 and has no effect', async () => {
  const before = eventCount();
  const nameOf = ({ call, name, text }: (typeof malformedIds)[number]) =>
    `${call.operationId} ${name} ${JSON.stringify(text.slice(0, 40))}`;
  for (const one of share.casesOf(malformedIds, nameOf, ({ call }) => call.operationId)) {
    const { call, name, text } = one;
    const path = pathOf(call, { [name]: encodeURIComponent(text) });
    const query = new URLSearchParams(requiredQuery(call)).toString();
    const key = dataset.keys[/^\/(?:(?:api\/v1\/)?admin|benchmarks)\//.test(call.path) ? 'super-admin' : 'owner'];
    const body = call.method !== 'GET' && jsonSchemaOf(call) ? { body: bodyFor(document, call, idsInBody(call)) } : {};
    const answer = await dataset.send(call.method, query ? `${path}?${query}` : path, { key, ...body });
    assert.is(answer.status, 404, `${nameOf(one)}: ${answer.text}`);
  }
  assert.is(eventCount(), before);
});

test('the projections have applied every event of these requests', () => assert.equal(dataset.unappliedEvents(), []));

test.run();
