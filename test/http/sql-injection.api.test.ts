// share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Schema } from '../fixtures/json-schema.ts';
import { openShare } from '../fixtures/share.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { bodyFor, type Call } from '../two-tenants/id-positions.ts';
import { requiredQuery, startValidCalls } from '../two-tenants/valid-calls.ts';

const share = openShare();
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
 * Maps true conditions to false ones. If the texts became part of an SQL statement, the responses to the two would
 * differ.
 */
const CONDITIONS: Readonly<Record<string, string>> = {
  "nothing' OR '1'='1": "nothing' OR '1'='2",
  "nothing') OR ('1'='1": "nothing') OR ('1'='2",
  'nothing" OR 1=1--': 'nothing" OR 1=2--',
  "nothing%' OR 1=1--": "nothing%' OR 1=2--",
};
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

/** A malicious text for a parameter. `at` is the name of the operation and of the parameter. */
type Attack = { readonly at: string; readonly text: string; readonly send: (text: string) => Promise<Answer> };

const attacksAt = (at: string, send: Attack['send']): Attack[] =>
  [...BREAKING, ...Object.keys(CONDITIONS), ...DELAYING].map((text) => ({ at, text, send }));

/** Returns what is wrong with the response to a malicious text, or null. */
const attackFault = async ({ text, send }: Attack): Promise<string | null> => {
  const start = performance.now();
  const answer = await send(text);
  if (performance.now() - start > SLEEP_SECONDS * 1_000) return 'delays the answer';
  const falsehood = CONDITIONS[text];
  if (falsehood === undefined || faultOf(answer)) return faultOf(answer);
  const isSame = comparable(answer, text) === comparable(await send(falsehood), falsehood);
  return isSame ? null : 'answers otherwise than a false condition';
};

const nameOf = ({ at, text }: Attack): string => `${at} ${text}`;

/** Returns the place of an attack, and what its text would do there. */
const effectAt = ({ at, text }: Attack): string =>
  `${at} ${text in CONDITIONS ? 'condition' : DELAYING.includes(text) ? 'delay' : 'error'}`;

/** Makes the attacks of the share, at least one at each parameter. @returns descriptions of what is wrong with the responses */
const faultsOf = async (attacks: readonly Attack[]): Promise<string[]> => {
  const faults: string[] = [];
  for (const attack of share.casesOf(attacks, nameOf, ({ at }) => at)) {
    const fault = await attackFault(attack);
    if (fault) faults.push(`${nameOf(attack)}: ${fault}`);
  }
  return faults;
};

const statusesOfReads = async (): Promise<string[]> => {
  const statuses: string[] = [];
  for (const call of reads) statuses.push(`${call.operationId} ${(await sendRead(call, {})).status}`);
  return statuses;
};

share.test('SQL in a query parameter has no effect: no response shows an error of Postgres, a changed condition or a delay', async () => {
  const attacks = reads.flatMap((call) =>
    (call.parameters ?? [])
      .filter((one) => one.in === 'query')
      .flatMap(({ name }) => attacksAt(`${call.operationId} ${name}`, (text) => sendRead(call, { [name]: text }))),
  );
  assert.ok(attacks.length > 2_000, `${attacks.length} attacks`);
  assert.equal(await faultsOf(attacks), []);
});

share.test('SQL in a path parameter is treated as data', async () => {
  const attacks = reads.flatMap((call) =>
    call.idPositions
      .filter((one) => one.in === 'path')
      .flatMap(({ name }) =>
        attacksAt(`${call.operationId} ${name}`, (text) => sendRead(call, {}, pathOf(call, { [name]: encodeURIComponent(text) }))),
      ),
  );
  // All ids have the same format. So most texts are refused alike, and one text with each effect is enough at each place.
  const chosen = share.oneOfEachKind(attacks, nameOf, effectAt);
  assert.ok(chosen.length > 400, `${chosen.length} attacks`);
  assert.equal(await faultsOf(chosen), []);
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

const STORED_TEXTS = ["x'); DROP SCHEMA agents CASCADE; --", "x' || (SELECT version()) || 'y"];

type BodyAttack = { readonly call: Call; readonly name: string; readonly text: string };

const bodyAttacks = (): BodyAttack[] =>
  calls.flatMap((call) => {
    const schema = call.method === 'GET' || call.method === 'DELETE' ? undefined : jsonSchemaOf(call);
    if (!schema || Array.isArray(bodyFor(document, call, idsInBody(call)))) return [];
    return textsIn(schema as Schema).flatMap((name) => STORED_TEXTS.map((text) => ({ call, name, text })));
  });

share.test('SQL in a text of a body is stored or refused as a text, and no table is dropped', async () => {
  const faults: string[] = [];
  let stored = 0;
  const tried = share.casesOf(
    bodyAttacks(),
    ({ call, name, text }) => `${call.operationId} ${name} ${text}`,
    ({ call }) => call.operationId,
  );
  for (const { call, name, text } of tried) {
    const key = dataset.keys[await callerOf(call)];
    const valid = bodyFor(document, call, idsInBody(call)) as object;
    const answer = await dataset.send(call.method, pathOf(call), { key, body: { ...valid, [name]: text } });
    const fault = faultOf(answer);
    if (fault) faults.push(`${call.operationId} ${name}: ${fault}`);
    if (answer.status < 300 && (answer.body as Record<string, unknown> | null)?.[name] === text) stored++;
  }
  assert.equal(faults, []);
  assert.ok(stored > tried.length / 30, `${stored} of ${tried.length} texts were stored as they were sent`);
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
