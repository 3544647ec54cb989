import { globSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PlanEvent } from '../../domain/billing/plan.ts';
import { actionOf, EXCLUDED_CATEGORIES, entryOf } from '../../projections/audit/audit-entry.ts';
import { summaryOf } from '../../projections/audit/audit-summary.ts';
import type { AuditOf } from '../../projections/audit-record.ts';
import { AUDIT_RECORDS, recordsOfAggregates } from '../../projections/audit-records.ts';
import type { Row } from '../../projections/projection.ts';
import { root } from '../fixtures/child-process.ts';
import { storedEvents } from '../fixtures/stored-events.ts';

const PLAN = { summary: 'created the plan {resource}', activity: 'create' } as const;

test('audit records of an aggregate do not compile without each of its events, or with any other event', () => {
  const complete = { PlanCreated: PLAN } satisfies AuditOf<PlanEvent>;
  // @ts-expect-error -- PlanCreated is missing
  const incomplete = {} satisfies AuditOf<PlanEvent>;
  // @ts-expect-error -- there is no event PlanRenamed
  const excessive = { PlanCreated: PLAN, PlanRenamed: PLAN } satisfies AuditOf<PlanEvent>;
  assert.equal(
    [complete, incomplete, excessive].map((records) => Object.keys(records).length),
    [1, 0, 2],
  );
});

const files = (pattern: string): string[] => globSync(pattern, { cwd: root }).map((file) => file.replaceAll('\\', '/'));
const modulesOf = (paths: readonly string[]) =>
  Promise.all(paths.map(async (file) => ({ file, module: (await import(`../../${file}`)) as Readonly<Record<string, unknown>> })));

/** The records of the event that the first start appends. It has no aggregate. */
const WITHOUT_AGGREGATE = ['projections/operations/platform-start.audit.ts'];

const auditModules = await modulesOf(files('projections/*/*.audit.ts'));

test('every aggregate whose events the audit log shows has a file of audit records beside its projection', async () => {
  const aggregates = (await modulesOf(files('domain/*/*.ts'))).filter(
    ({ module }) => typeof module.category === 'string' && 'evolve' in module && !EXCLUDED_CATEGORIES.has(module.category),
  );
  const expected = aggregates.map(({ file }) => file.replace(/^domain\/(.+)\.ts$/, 'projections/$1.audit.ts'));
  assert.equal(auditModules.map(({ file }) => file).sort(), [...expected, ...WITHOUT_AGGREGATE].sort());
});

test('the list of audit records contains those of every file', () => {
  const missing = auditModules.filter(({ module }) => !recordsOfAggregates.some((records) => Object.values(module).includes(records)));
  assert.equal(
    missing.map(({ file }) => file),
    [],
  );
  assert.is(recordsOfAggregates.length, auditModules.length);
});

test('aggregates with an event of the same type share its audit record', () => {
  const other = recordsOfAggregates.flatMap((records) =>
    Object.entries(records).flatMap(([type, record]) => (AUDIT_RECORDS.get(type) === record ? [] : [type])),
  );
  assert.equal(other, []);
});

test('no two types of events have the same action in the audit log', () =>
  assert.is(new Set([...AUDIT_RECORDS.keys()].map(actionOf)).size, AUDIT_RECORDS.size));

const NAMES = { actor: 'Ada', resource: '“R”', person: 'Bob', agent: '“A”', skill: '“S”' };

test('every word in braces in a summary is a name, or a field that events of this type have', () => {
  const isComplete = (type: string, kind: 'user' | 'system'): boolean =>
    storedEvents.some((event) => {
      if (event.type !== type) return false;
      const summary = summaryOf({ ...event, actor: { kind, id: 'actor' } }, NAMES, entryOf(event).meta as Row);
      return !/unknown|[{}]/.test(summary);
    });
  const incomplete = [...AUDIT_RECORDS.keys()].filter((type) => !isComplete(type, 'user') || !isComplete(type, 'system'));
  assert.equal(incomplete, []);
});

test('an audit entry shows no sealed text, neither of an event nor of the records in its lists', () => {
  const shown = storedEvents.map((event) => JSON.stringify(entryOf(event).meta));
  assert.ok(shown.some((meta) => meta?.includes('"same_as":1')));
  assert.equal(
    shown.filter((meta) => /"sealed\w*":/.test(meta ?? '')),
    [],
  );
});

test.run();
