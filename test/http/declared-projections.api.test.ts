import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AS_OF_PROJECTION } from '../../api/http/as-of.ts';
import { projectionsOf, takesToken } from '../../api/http/operation.ts';
import { readsOver } from '../../infra/readmodel/postgres-read-model.ts';
import type { Reads } from '../../projections/read-model.ts';
import { projections } from '../../projections/registry.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { boundaryValues } from '../fixtures/boundary-values.ts';
import type { Schema } from '../fixtures/json-schema.ts';
import { bodyFor, type Call } from '../two-tenants/id-positions.ts';
import { type Problem, requiredQuery, startValidCalls } from '../two-tenants/valid-calls.ts';

const { calls, callerOf, dataset, document, eventCount, pathOf, schemas } = await startValidCalls();

const names: ReadonlySet<string> = new Set(projections.map(({ name }) => name));

/** The projections from which the last request got rows. */
const used = new Set<string>();

/** Reads that do not reach the database. They record which projections' tables their SQL statements name. */
const recorder = readsOver(async <R>({ text }: { text: string }) => {
  for (const [, schema] of text.matchAll(/"(\w+)"\."\w+"/g)) if (names.has(schema!)) used.add(schema!);
  const noRows = { body: null, found: 0, held: 0, value: null, id: null };
  return (text.includes('"found"') ? [noRows] : []) as R[];
}) as Reads;

type AnyRead = (...args: readonly unknown[]) => Promise<unknown>;
for (const name of ['one', 'page', 'rows', 'counter'] as const) {
  const read = dataset.reads[name] as AnyRead;
  const recorded: AnyRead = async (...args) => {
    await (recorder[name] as AnyRead)(...args);
    return read(...args);
  };
  Object.assign(dataset.reads, { [name]: recorded });
}

/** The reads whose response is complete without the rows of these projections, which they do not wait for. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  // The history comes from the event log. The names of the actors are added if the audit log has them already.
  ...Object.fromEntries(['Agent', 'Skill', 'Model', 'Tool', 'Tenant'].map((noun) => [`read${noun}History`, ['audit']])),
  // So do these, with who gave a role.
  ...Object.fromEntries(['readEffectivePermissions', 'readMember'].map((name) => [name, ['audit']])),
  // The names of what a delivery is about are added if the read models have them already.
  ...Object.fromEntries(
    ['listTenantDeliveries', 'listDeliveries', 'listDeliveryProblems', 'getDelivery'].map((name) => [
      name,
      ['agents', 'integrations', 'cron_jobs', 'skills'],
    ]),
  ),
  // The runtime comes from the event log. A runner must get it while the read models are down.
  getAgentRuntime: ['memory'],
};

/**
 * Returns the queries to send: one with the required parameters, one with each valid boundary value of a parameter, and
 * one with the id of each resource as the searched text.
 */
const queriesOf = (call: Call): Record<string, string>[] => {
  const required = requiredQuery(call);
  const ofParameters = (call.parameters ?? [])
    .filter((one) => one.in === 'query')
    .flatMap(({ name, schema }) =>
      boundaryValues(schema as Schema, schemas)
        .filter(({ isValid, value }) => isValid && value !== null)
        .map(({ value }) => ({ ...required, [name]: String(value) })),
    );
  const isSearch = call.parameters?.some(({ name }) => name === 'q');
  const ids = isSearch ? Object.values(dataset.own).map((q) => ({ ...required, q })) : [];
  return [required, ...ofParameters, ...ids];
};

test('every read declares the projections from which it gets rows, so that it waits for them', async () => {
  const undeclared = new Set<string>();
  let succeeded = 0;
  for (const call of calls.filter(({ method, operationId }) => method === 'GET' && operationId in dataset.operations)) {
    const row = dataset.operations[call.operationId]!;
    const key = dataset.keys[await callerOf(call)];
    for (const query of queriesOf(call)) {
      used.clear();
      const { status } = await dataset.send('GET', `${pathOf(call)}?${new URLSearchParams(query)}`, { key });
      if (status === 200) succeeded++;
      const declared = [
        ...projectionsOf(row, query),
        ...(OPTIONAL[call.operationId] ?? []),
        ...('as_of' in query ? [AS_OF_PROJECTION] : []),
      ];
      for (const name of used) if (!declared.includes(name)) undeclared.add(`${call.operationId}: ${name}`);
    }
  }
  assert.equal([...undeclared], []);
  assert.ok(succeeded > 300, `${succeeded} reads succeeded`);
});

test('no operation with an aggregate declares further projections, because it may answer before they are up to date', () => {
  const rows = Object.entries(dataset.operations).filter(([, { aggregate, otherProjections }]) => aggregate && otherProjections);
  assert.equal(rows, []);
});

/** A position that the log will not have reached during the test. */
const FUTURE = '99999999999:99999999999';
const changes = calls.filter(({ method, operationId }) => method !== 'GET' && operationId in dataset.operations);
const rowOf = (operationId: string) => dataset.operations[operationId]!;

const sendExample = async (call: Call, headers: Record<string, string> = {}) =>
  dataset.send(call.method, pathOf(call), {
    key: dataset.keys[await callerOf(call)],
    body: bodyFor(document, call, dataset.own),
    headers,
  });

/** Operations that may record nothing because there is nothing to do. */
const IDLE: readonly string[] = ['restoreAgent'];

test('every operation that changes nothing says so, so that it honours the Consistency-Token', async () => {
  const silent: string[] = [];
  for (const call of changes.filter(({ method }) => method === 'POST')) {
    const before = eventCount();
    const { status } = await sendExample(call);
    if (status < 300 && eventCount() === before && !IDLE.includes(call.operationId)) silent.push(call.operationId);
  }
  assert.equal(
    silent,
    changes.filter(({ operationId }) => rowOf(operationId).readsOnly).map(({ operationId }) => operationId),
  );
});

test('a preview or a trial with a Consistency-Token that the platform has not reached gets 503, as a GET does', async () => {
  const tried = changes.filter(({ operationId }) => takesToken(rowOf(operationId)));
  const found: string[] = [];
  for (const call of tried) {
    const { status, body } = await sendExample(call, { 'consistency-token': FUTURE });
    found.push(`${call.operationId} ${status} ${(body as Problem).code}`);
  }
  assert.equal(
    found,
    tried.map(({ operationId }) => `${operationId} 503 not_caught_up`),
  );
  assert.ok(tried.length >= 7, `${tried.length}`);
});

test('the document lists the Consistency-Token for exactly those operations that honour it', () => {
  const listed = (one: unknown) => JSON.stringify(one).includes('#/components/parameters/ConsistencyToken');
  for (const call of changes) assert.is(listed(call.parameters ?? []), takesToken(rowOf(call.operationId)), call.operationId);
});

test('every operation that changes nothing declares the projections from which it gets rows', async () => {
  const undeclared: string[] = [];
  for (const call of changes.filter(({ operationId }) => rowOf(operationId).readsOnly)) {
    used.clear();
    assert.is((await sendExample(call)).status, 200, call.operationId);
    for (const name of used)
      if (!projectionsOf(rowOf(call.operationId), {}).includes(name)) undeclared.push(`${call.operationId}: ${name}`);
  }
  assert.equal(undeclared, []);
});

afterLastTest(() => dataset.close());

test.run();
