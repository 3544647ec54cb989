import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { boundaryValues, typeOf } from '../fixtures/boundary-values.ts';
import type { Schema } from '../fixtures/json-schema.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { bodyFor, type Call } from '../two-tenants/id-positions.ts';
import { pointersOf, requiredQuery, startValidCalls, UNKNOWN } from '../two-tenants/valid-calls.ts';

const { callerOf, calls, dataset, document, eventCount, idsInBody, jsonSchemaOf, pathOf, schemas } = await startValidCalls();

/** Query parameters whose values must fulfil a rule that JSON Schema does not describe, each with this rule. */
const SEMANTIC_PARAMETERS: Readonly<Record<string, string>> = {
  cursor: 'the text that a previous page returned',
  as_of: 'a time or a token',
  from: 'a time, or a token',
  to: 'a time, or a token',
  to_position: 'a position',
  sort: 'a field of the list',
  projection: 'the name of a projection',
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

test('every query parameter accepts exactly the values that its schema in the OpenAPI document allows', async () => {
  const faults: string[] = [];
  let [accepted, refused] = [0, 0];
  for (const call of reads)
    for (const { name, schema, in: where } of call.parameters ?? []) {
      if (where !== 'query') continue;
      for (const { text, isValid } of queryTexts(schema as Schema)) {
        const answer = await get(call, new URLSearchParams({ ...requiredQuery(call), [name]: text }).toString());
        const at = `${call.operationId} ${name}=${text.slice(0, 40)} (${text.length})`;
        const isRefused = answer.status === 422 && pointersOf(answer).includes(`/query/${name}`);
        if (answer.status >= 500) faults.push(`${at} has the status ${answer.status}`);
        else if (!isValid && !isRefused) faults.push(`${at} is not refused: ${answer.status} ${answer.text.slice(0, 200)}`);
        else if (isValid && isRefused && !(name in SEMANTIC_PARAMETERS)) faults.push(`${at} is refused: ${answer.text.slice(0, 200)}`);
        if (isValid) accepted++;
        else refused++;
      }
    }
  console.log(`${reads.length} reads: ${accepted} values accepted, ${refused} refused`);
  assert.equal(faults, []);
  assert.ok(accepted > 200 && refused > 200);
});

test('a request with an unknown query parameter, or with one that occurs twice, gets 422, and the error names the parameter', async () => {
  for (const call of reads) {
    const required = new URLSearchParams(requiredQuery(call)).toString();
    const unknown = await get(call, `${required}&${UNKNOWN}=1`);
    assert.equal([unknown.status, pointersOf(unknown)], [422, [`/query/${UNKNOWN}`]], `${call.operationId}: ${unknown.text}`);
    for (const { name } of (call.parameters ?? []).filter((one) => one.in === 'query')) {
      const twice = await get(call, `${new URLSearchParams({ ...requiredQuery(call), [name]: '1' })}&${name}=2`);
      assert.is(twice.status, 422, `${call.operationId} ${name}: ${twice.text}`);
      assert.ok(pointersOf(twice).includes(`/query/${name}`), `${call.operationId} ${name}: ${twice.text}`);
    }
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

test('a request with a malformed id or name in the path gets 404 and has no effect', async () => {
  const before = eventCount();
  for (const call of calls)
    for (const { name } of call.idPositions.filter((one) => one.in === 'path'))
      for (const text of MALFORMED.filter((one) => !FREE_NAMES.includes(name) || !FREE_NAME.test(one))) {
        const path = pathOf(call, { [name]: encodeURIComponent(text) });
        const query = new URLSearchParams(requiredQuery(call)).toString();
        const key = dataset.keys[/^\/(?:(?:api\/v1\/)?admin|benchmarks)\//.test(call.path) ? 'super-admin' : 'owner'];
        const body = jsonSchemaOf(call) ? { body: bodyFor(document, call, idsInBody(call)) } : {};
        const answer = await dataset.send(call.method, query ? `${path}?${query}` : path, { key, ...(call.method === 'GET' ? {} : body) });
        assert.is(answer.status, 404, `${call.operationId} ${JSON.stringify(text.slice(0, 40))}: ${answer.text}`);
      }
  assert.is(eventCount(), before);
});

test('clean-up: the projections have applied every event, and the platform stops without an error', async () => {
  assert.equal(dataset.unappliedEvents(), []);
  await dataset.close();
});

test.run();
