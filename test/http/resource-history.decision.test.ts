import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { agentHistory } from '../../api/agents/agent-history.ts';
import { modelHistory } from '../../api/agents/model-history.ts';
import { type AnySubject, changesBetween } from '../../api/http/resource-history.ts';
import { skillHistory } from '../../api/skills/skill-history.ts';
import { tenantHistory } from '../../api/tenants/tenant-history.ts';
import { toolHistory } from '../../api/tools/tool-history.ts';
import type { Recorded } from '../../domain/event.ts';
import { storedEvents } from '../fixtures/stored-events.ts';

const SUBJECTS: readonly AnySubject[] = [agentHistory, modelHistory, skillHistory, tenantHistory, toolHistory];

/**
 * Types of events that change no field shown in a history. The list also contains the events of a tenant's erasure,
 * because the history of an erased tenant cannot be read.
 */
const WITHOUT_VISIBLE_CHANGES = [
  'AgentSkillConfigResealed',
  'AgentSlugReleased',
  'TenantErasureStarted',
  'TenantEventsCounted',
  'TenantDataKeyDestroyed',
  'TenantErased',
  'TenantErasureCompleted',
];

const isSecret = (name: string): boolean => name === 'digest' || name.startsWith('sealed');

/** The stream categories whose field `digest` is not secret, because it is computed from content that is not secret. */
const PUBLIC_DIGESTS = ['skill'];

/** Returns the values of all secrets in an event's data, however deeply they are nested. */
const secretsIn = (value: unknown, name = ''): string[] => {
  if (typeof value === 'string') return isSecret(name) || /^v1\.[\w-]+\.[\w-]+\./.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => secretsIn(one, isSecret(name) ? name : key));
};

type Step = { readonly event: Recorded; readonly changes: ReturnType<typeof changesBetween> };

/** Returns the stored sample events of this kind of resource, each with the changes that the history shows for it. */
const stepsOf = (subject: AnySubject): Step[] => {
  const states = new Map<string, unknown>();
  return storedEvents
    .filter(({ category }) => category === subject.aggregate.category)
    .map((event) => {
      const before = states.get(event.id) ?? subject.aggregate.initial;
      const after = subject.aggregate.evolve(before, event);
      states.set(event.id, after);
      return { event, changes: changesBetween(subject, before, after).filter(({ pointer }) => pointer !== '/updated_at') };
    });
};
const steps = SUBJECTS.map(stepsOf);

test('the history of each kind of resource shows what each of its events changed', () => {
  for (const [index, subject] of SUBJECTS.entries()) {
    const found = steps[index]!;
    assert.ok(found.length > 2, subject.noun);
    const without = new Set(found.filter(({ changes }) => changes.length === 0).map(({ event }) => event.type));
    // An event type is covered if the history shows changes for at least one of its events. Other events of the type
    // may set a field to the value that it already has.
    for (const { event, changes } of found) if (changes.length > 0) without.delete(event.type);
    assert.equal(
      [...without].filter((type) => !WITHOUT_VISIBLE_CHANGES.includes(type)),
      [],
      subject.noun,
    );
  }
});

test('the history shows the first event of a resource as changes of its fields from null', () => {
  for (const found of steps)
    for (const { event, changes } of found.filter(({ event }) => event.revision === 0)) {
      assert.ok(changes.length > 3, event.type);
      assert.ok(
        changes.every(({ from }) => from === null),
        event.type,
      );
    }
});

test('no entry of a history has a change from null to null', () => {
  for (const found of steps)
    for (const { event, changes } of found)
      assert.equal(
        changes.filter(({ from, to }) => from === null && to === null),
        [],
        event.type,
      );
});

test('no history contains the digest or the ciphertext of a secret', () => {
  const secret = storedEvents.filter(({ category }) => !PUBLIC_DIGESTS.includes(category));
  const secrets = new Set(secret.flatMap(({ data }) => secretsIn(data)));
  assert.ok(secrets.size > 3);
  const shown = JSON.stringify(steps.map((found) => found.map(({ changes }) => changes)));
  for (const text of secrets) assert.not.ok(shown.includes(text), text);
});

test('if a secret entry of a resource changes, the history shows that the entry changed, but neither the old nor the new value', () => {
  type Vault = { sealed: Record<string, string> };
  const subject: AnySubject = {
    ...agentHistory,
    aggregate: { category: 'vault', initial: { sealed: {} }, evolve: (state: Vault) => state },
    fieldsOf: () => ({}),
    entryMaps: { secrets: { of: ({ sealed }: Vault) => sealed, show: () => '***' } },
  };
  const between = (from: Vault['sealed'], to: Vault['sealed']) => changesBetween(subject, { sealed: from }, { sealed: to });
  assert.equal(between({ a: 'one' }, { a: 'two' }), [{ pointer: '/secrets/a', from: '***', to: '***' }]);
  assert.equal(between({}, { a: 'two' }), [{ pointer: '/secrets/a', from: null, to: '***' }]);
  assert.equal(between({ a: 'one' }, {}), [{ pointer: '/secrets/a', from: '***', to: null }]);
  assert.equal(between({ a: 'one', b: 'x' }, { a: 'one', b: 'x' }), []);
});

test.run();
