import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import { actionsOf, categoryOf } from '../../projections/audit/audit-category.ts';
import { actionOf } from '../../projections/audit/audit-entry.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { actionWords, type Described, sentenceOf } from '../../projections/audit/audit-sentence.ts';
import { AUDIT_CATEGORIES } from '../../projections/audit-record.ts';
import { AUDIT_RECORDS } from '../../projections/audit-records.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { storedEvents } from '../fixtures/stored-events.ts';

type Entry = Described & { readonly id: string; readonly tenant_id: string | null };

const store = openMemoryStore([audit]);
store.feed(storedEvents);
const rowsOf = (name: string) => [...store.rows(audit.name, name).values()];
const entriesIn = (name: string): Entry[] => rowsOf(name).map(({ docs }) => JSON.parse(docs[0]!) as Entry);
/** The entries of tenants. Those of the platform are not searched for what they are about. */
const entries = entriesIn('audit_logs').filter(({ tenant_id }) => tenant_id !== null);
const integrations = new Set(storedEvents.filter(({ category }) => category === 'integration').map(({ id }) => id));
const eventById = new Map(storedEvents.map((event) => [event.event_id, event]));

/** The ids by which the columns and the index find each entry. */
const found = new Map(rowsOf('audit_logs').map(({ row }) => [String(row.id), new Set([row.agent_id, row.resource_id, row.actor_id])]));
for (const { row } of rowsOf('event_subjects')) found.get(String(row.event_id))!.add(row.subject_id);

const ID = /\bc[a-z0-9]{24}\b/;
const NAMED = /^(?:new_)?(?:user|owner|agent|integration|job|source)_id$/;

/** The ids of people, agents, integrations and jobs in the fields of an event, without the table of the index. */
const idsNamedBy = ({ data, meta }: Recorded): string[] => {
  const { integration_id, ...others } = { ...(data instanceof Uint8Array ? (meta.facts as object) : (data as object)) } as Record<
    string,
    unknown
  >;
  // Deliveries of mail and benchmarks have another id there.
  const fields = Object.entries({ ...others, ...(integrations.has(String(integration_id)) && { integration_id }) });
  const ids = fields.flatMap(([name, value]) => (NAMED.test(name) || name === 'old_owner_ids' ? [value].flat() : []));
  return ids.filter((id): id is string => typeof id === 'string' && ID.test(id));
};

test('an event of every type is found by each person, agent, integration and job that it names, and by its resource', () => {
  const missed = entries.flatMap(({ id, action, subjects, resource_id }) => {
    const named = [...idsNamedBy(eventById.get(id)!), ...subjects.map((subject) => subject.id), resource_id];
    return named.filter((one) => !found.get(id)!.has(one)).map((one) => `${action} ${one}`);
  });
  assert.equal(missed, []);
});

test('a search for a person finds all events about them, also those of their membership and of their own stream', () => {
  const indexed = new Set(rowsOf('event_subjects').map(({ row }) => `${row.event_id} ${row.subject_id}`));
  const missed = entries
    .filter(({ resource_type }) => resource_type === 'member' || resource_type === 'user')
    .filter(({ id, resource_id, action }) => !/^(?:seller|payment)\./.test(action) && !indexed.has(`${id} ${resource_id}`))
    .map(({ action }) => action);
  assert.equal([...new Set(missed)], []);
});

test('an event about an API key is found by the owner of the key, even if only the first event names the owner', () => {
  const owners = new Map(
    storedEvents.flatMap(({ type, id, data }) => (type === 'ApiKeyCreated' ? [[id, (data as { owner_id: string }).owner_id]] : [])),
  );
  const revoked = entries.filter(({ action }) => action === 'api_key.revoked');
  assert.ok(revoked.length > 0);
  for (const { id, resource_id } of revoked) assert.ok(found.get(id)!.has(owners.get(resource_id!)), id);
});

test('events with one row for each delivery, attempt or call of a model have no rows in the index', () => {
  const types = new Set(rowsOf('event_subjects').map(({ row }) => eventById.get(String(row.event_id))!.type));
  const frequent = [
    'WebhookAccepted',
    'DeliveriesAcknowledged',
    'DeliveryAttemptsReported',
    'BudgetReserved',
    'MessageAppended',
    'UsageRecorded',
  ];
  assert.equal(
    frequent.filter((type) => types.has(type)),
    [],
  );
});

test('the sentence of every event type names things without ids, and has no placeholder that is not filled in', () => {
  const sentences = [...entries, ...entriesIn('platform_audit_logs')].map((entry) => ({
    action: entry.action,
    text: sentenceOf(entry)
      .map(({ text }) => text)
      .join(''),
  }));
  assert.equal(
    [...AUDIT_RECORDS.keys()].map(actionOf).filter((action) => !sentences.some((one) => one.action === action)),
    [],
  );
  const wrong = sentences.filter(
    ({ text }) => ID.test(text) || /unknown|undefined|\{\w+\}|\b[0-9a-f]{8}-[0-9a-f]{4}-|one without a name/.test(text),
  );
  assert.equal(wrong, []);
});

test('a sentence links to its actor and to what it names, even if a name looks like a whole sentence', () => {
  const entry = entries.find(({ action }) => action === 'agent.role_assigned')!;
  const name = 'Eve gave Bob the role OWNER on the agent X';
  const parts = sentenceOf({
    ...entry,
    actor: { ...entry.actor, name },
    resource_name: 'Desk',
    subjects: [{ kind: 'user', id: entry.subjects[0]!.id, name: 'Daniel' }],
  });
  assert.equal(parts, [
    { text: name, kind: 'user', id: entry.actor.id },
    { text: ' gave ', kind: null, id: null },
    { text: 'Daniel', kind: 'user', id: entry.subjects[0]!.id },
    { text: ` the role ${entry.meta.role} on the agent `, kind: null, id: null },
    { text: 'Desk', kind: 'agent', id: entry.resource_id },
  ]);
});

test('sentences contain the display names of fields and providers', () => {
  const textOf = (action: string, meta: object) =>
    sentenceOf({ ...entries.find((one) => one.action === action)!, meta: meta as Described['meta'] })
      .map(({ text }) => text)
      .join('');
  const changed = { is_paused: true, cron_expr: '* * * * *', recurring_yearly: true, model_ids: [], hourly_limit_usd: 1, voice: 'calm' };
  assert.match(
    textOf('agent.updated', changed),
    / changed pause, cron expression, yearly repetition, models, hourly limit and voice of the agent /,
  );
  assert.match(textOf('integration.connected', { provider: 'github' }), / connected the GitHub integration /);
  // A key of a skill's settings is a name, and an error has the words of another service.
  const sentences = entries.filter(({ meta }) => !meta.config_key && !meta.error).map(({ action, meta }) => textOf(action, meta));
  assert.equal(
    sentences.filter((text) => /\b[a-z]+_[a-z_]+\b|\bgithub\b|\bis (?:paused|active|enabled) of\b/.test(text)),
    [],
  );
});

test('every action has a text without placeholders, and a category unless it is about the whole tenant or platform', () => {
  const actions = [...AUDIT_RECORDS.keys()].map(actionOf);
  assert.equal(
    actions.filter((action) => !/^[a-z][^{}]+$/.test(actionWords(action))),
    [],
  );
  assert.is(actionWords('agent.role_assigned'), 'gave a person a role on an agent');
  const without = actions.filter(
    (action) => categoryOf(action) === null && !/^(?:tenant|brand|platform|use|projection|parked_event)\./.test(action),
  );
  assert.equal(without, []);
  assert.equal(AUDIT_CATEGORIES.flatMap(actionsOf).length, new Set(AUDIT_CATEGORIES.flatMap(actionsOf)).size);
});

test.run();
