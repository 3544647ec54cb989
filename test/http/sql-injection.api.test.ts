// limit: 300
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Schema } from '../fixtures/json-schema.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { bodyFor, type Call } from '../two-tenants/id-positions.ts';
import { requiredQuery, startValidCalls } from '../two-tenants/valid-calls.ts';

const { callerOf, calls, dataset, document, idsInBody, jsonSchemaOf, pathOf } = await startValidCalls();

/** Texts that would end a string literal or cause a syntax error if they became part of an SQL statement. */
const BREAKING = [
  "'",
  '"',
  "')--",
  "\\'; --",
  "1' AND 1=CAST((SELECT version()) AS int)--",
  "' UNION SELECT NULL,NULL,NULL--",
  "'; DROP SCHEMA agents CASCADE; --",
  "'; DELETE FROM users.users; --",
  '$$; SELECT 1; $$',
  '$1 :name ?',
  "%' ESCAPE 'x",
  "E'\\x27'",
];
/**
 * Pairs of a true and a false condition. If the texts became part of an SQL statement, the responses to the two would
 * differ.
 */
const CONDITIONS = [
  ["nothing' OR '1'='1", "nothing' OR '1'='2"],
  ["nothing') OR ('1'='1", "nothing') OR ('1'='2"],
  ['nothing" OR 1=1--', 'nothing" OR 1=2--'],
  ["nothing%' OR 1=1--", "nothing%' OR 1=2--"],
] as const;
const SLEEP_SECONDS = 20;
/** Texts that would delay the response if they became part of an SQL statement. */
const DELAYING = [
  `'; SELECT pg_sleep(${SLEEP_SECONDS}); --`,
  `'||(SELECT pg_sleep(${SLEEP_SECONDS}))||'`,
  `1 AND 1=(SELECT 1 FROM pg_sleep(${SLEEP_SECONDS}))`,
];

/** Matches texts that a response contains only if Postgres has refused a statement. */
const LEAK = /syntax error|SQLSTATE|unterminated|pg_catalog|PostgreSQL \d|invalid input syntax|relation "|at or near/i;

const reads = calls.filter(({ method }) => method === 'GET');

/**
 * Returns the status and the text of a response. Left out are the text that was sent and the parts that differ in every
 * response.
 */
const comparable = ({ status, text }: Answer, sent: string): string =>
  `${status} ${text.replace(/"(?:request_id|instance)":"(?:[^"\\]|\\.)*"/g, '').replaceAll(JSON.stringify(sent).slice(1, -1), '')}`.replaceAll(
    encodeURIComponent(sent),
    '',
  );

const faultOf = ({ status, text }: Answer): string | null =>
  status >= 500 ? `has the status ${status}` : LEAK.test(text) ? `shows ${LEAK.exec(text)![0]}` : null;

const sendRead = async (call: Call, more: Record<string, string>, path = pathOf(call)): Promise<Answer> =>
  dataset.send('GET', `${path}?${new URLSearchParams({ ...requiredQuery(call), ...more })}`, { key: dataset.keys[await callerOf(call)] });

/** Passes each malicious text to `send`. @returns descriptions of what is wrong with the responses */
const attack = async (at: string, send: (text: string) => Promise<Answer>): Promise<string[]> => {
  const faults: string[] = [];
  const note = (text: string, fault: string | null): void => void (fault && faults.push(`${at} ${text}: ${fault}`));
  for (const text of BREAKING) note(text, faultOf(await send(text)));
  for (const [truth, falsehood] of CONDITIONS) {
    const [one, other] = [await send(truth), await send(falsehood)];
    note(
      truth,
      faultOf(one) ?? (comparable(one, truth) === comparable(other, falsehood) ? null : 'answers otherwise than a false condition'),
    );
  }
  for (const text of DELAYING) {
    const start = performance.now();
    note(text, faultOf(await send(text)));
    if (performance.now() - start > SLEEP_SECONDS * 1_000) note(text, 'delays the answer');
  }
  return faults;
};

const statusesOfReads = async (): Promise<string[]> => {
  const statuses: string[] = [];
  for (const call of reads) statuses.push(`${call.operationId} ${(await sendRead(call, {})).status}`);
  return statuses;
};

test('SQL in a query parameter is treated as data: no response shows an error of Postgres, the effect of a changed condition, or a delay', async () => {
  const faults: string[] = [];
  let attacked = 0;
  for (const call of reads)
    for (const { name, in: where } of call.parameters ?? []) {
      if (where !== 'query') continue;
      attacked++;
      faults.push(...(await attack(`${call.operationId} ${name}`, (text) => sendRead(call, { [name]: text }))));
    }
  assert.equal(faults, []);
  assert.ok(attacked > 100, `${attacked} parameters`);
});

test('SQL in a path parameter is treated as data', async () => {
  const faults: string[] = [];
  for (const call of reads)
    for (const { name } of call.idPositions.filter((one) => one.in === 'path')) {
      const send = (text: string) => sendRead(call, {}, pathOf(call, { [name]: encodeURIComponent(text) }));
      faults.push(...(await attack(`${call.operationId} ${name}`, send)));
    }
  assert.equal(faults, []);
});

/** Returns the names of the top-level fields of a body that can be texts. */
const textsIn = (schema: Schema): string[] =>
  Object.entries((schema as { properties?: Record<string, Schema> }).properties ?? {}).flatMap(([name, field]) =>
    [field, ...(((field as { anyOf?: Schema[] }).anyOf as Schema[] | undefined) ?? [])].some(
      (one) => (one as { type?: string }).type === 'string',
    )
      ? [name]
      : [],
  );

test('SQL in a text of a body is stored or refused as a text, and no table is dropped', async () => {
  const faults: string[] = [];
  let stored = 0;
  for (const call of calls) {
    const schema = call.method === 'GET' || call.method === 'DELETE' ? undefined : jsonSchemaOf(call);
    if (!schema) continue;
    const valid = bodyFor(document, call, idsInBody(call));
    if (Array.isArray(valid)) continue;
    for (const name of textsIn(schema as Schema))
      for (const text of ["x'); DROP SCHEMA agents CASCADE; --", "x' || (SELECT version()) || 'y"]) {
        const key = dataset.keys[await callerOf(call)];
        const answer = await dataset.send(call.method, pathOf(call), { key, body: { ...(valid as object), [name]: text } });
        const fault = faultOf(answer);
        if (fault) faults.push(`${call.operationId} ${name}: ${fault}`);
        if (answer.status < 300 && (answer.body as Record<string, unknown> | null)?.[name] === text) stored++;
      }
  }
  assert.equal(faults, []);
  assert.ok(stored > 10, `${stored} texts were stored as they were sent`);
  assert.equal(dataset.unappliedEvents(), []);
});

test('after the SQL injection attempts, every read still succeeds', async () => {
  const statuses = await statusesOfReads();
  assert.equal(
    statuses.filter((status) => / 5\d\d$/.test(status)),
    [],
  );
  assert.ok(statuses.filter((status) => status.endsWith(' 200')).length > 50, statuses.join(', '));
  await dataset.close();
});

test.run();
