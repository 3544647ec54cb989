import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createDeliveryEligibility } from '../../commands/deliveries/delivery-eligibility.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Plan from '../../domain/billing/plan.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

const idOf = (letter: string): string => `c${letter.repeat(24)}`;
const [INTEGRATION, TENANT, AGENT, PLAN, FREE_PLAN] = [idOf('i'), idOf('t'), idOf('a'), idOf('p'), idOf('f')];

const integration: Integration.Integration = { ...Integration.initial, status: 'connected', id: INTEGRATION, tenant_id: TENANT };
const tenant: Tenant.Tenant = { ...Tenant.initial, status: 'active', plan_id: PLAN };
const planWith = (webhooks_per_minute: number): Plan.Plan => ({ ...Plan.initial, limits: { ...Plan.initial.limits, webhooks_per_minute } });

type States = Readonly<Record<string, unknown>>;

const STATES: States = {
  [`integration-platform.${INTEGRATION}`]: integration,
  [`tenant-${TENANT}.${TENANT}`]: tenant,
  [`agent-${TENANT}.${AGENT}`]: { ...Agent.initial, status: 'live', is_active: true },
  [`plan-platform.${PLAN}`]: planWith(100),
  [`plan-platform.${FREE_PLAN}`]: planWith(10),
};

/**
 * Creates the eligibility checks for aggregates in the states of STATES with these changes. If `isCached` is true, all
 * states are in memory; otherwise, they are only in the log.
 */
const eligibilityOver = (changes: States, isCached: boolean) => {
  const states = { ...STATES, ...changes };
  const find = ({ category, initial }: { category: string; initial: unknown }, tenant: string, id: string) =>
    ({ id, state: states[`${category}-${tenant}.${id}`] ?? initial, revision: 0, position: null }) as never;
  return createDeliveryEligibility({
    cache: {
      peek: (...key) => (isCached ? find(...key) : undefined),
      load: async (...key) => find(...key),
      loadCached: (...key) => (isCached ? find(...key) : Promise.resolve(find(...key))),
    },
    uniqueId: () => FREE_PLAN,
  });
};

/**
 * Runs a check first with all states in memory, and then with all of them only in the log. Asserts that the first
 * result is returned without a promise and equals the second one.
 */
const ask = async <T>(changes: States, question: (eligibility: ReturnType<typeof eligibilityOver>) => T | Promise<T>): Promise<T> => {
  const warm = question(eligibilityOver(changes, true));
  assert.not.ok(warm instanceof Promise);
  assert.equal(await question(eligibilityOver(changes, false)), warm);
  return warm as T;
};

const accepts = async (changes: States, id = INTEGRATION): Promise<boolean> =>
  (await ask(changes, (eligibility) => eligibility.integration(id))) !== null;

test('only an existing, connected integration accepts deliveries', async () => {
  assert.ok(await accepts({}));
  assert.not.ok(await accepts({ [`integration-platform.${INTEGRATION}`]: { ...integration, status: 'disconnected' } }));
  assert.not.ok(await accepts({}, idOf('x')));
  assert.not.ok(await accepts({}, 'not an id'));
});

test('a tenant accepts deliveries only while it is active or closing, and only while it is not suspended', async () => {
  const acceptsWith = (fields: Partial<Tenant.Tenant>) => accepts({ [`tenant-${TENANT}.${TENANT}`]: { ...tenant, ...fields } });
  assert.ok(await acceptsWith({ status: 'closing' }));
  assert.not.ok(await acceptsWith({ status: 'closed' }));
  assert.not.ok(await acceptsWith({ status: 'absent' }));
  assert.not.ok(await acceptsWith({ status: 'suspended', is_suspended: true }));
  assert.not.ok(await acceptsWith({ status: 'closing', is_suspended: true }));
});

test('an agent is active for deliveries only if it exists, is not deleted and is set to active', async () => {
  const isActiveWith = (fields: Partial<Agent.Agent>) =>
    ask({ [`agent-${TENANT}.${AGENT}`]: { ...Agent.initial, status: 'live', is_active: true, ...fields } }, ({ isAgentActive }) =>
      isAgentActive(TENANT, AGENT),
    );
  assert.ok(await isActiveWith({}));
  assert.not.ok(await isActiveWith({ is_active: false }));
  assert.not.ok(await isActiveWith({ status: 'deleted' }));
  assert.not.ok(await isActiveWith({ status: 'absent' }));
});

test("a tenant's delivery quota is that of its plan, or that of the free plan if its plan is canceled", async () => {
  const quotaWith = (fields: Partial<Tenant.Tenant>) =>
    ask({ [`tenant-${TENANT}.${TENANT}`]: { ...tenant, ...fields } }, ({ quotaOf }) => quotaOf(TENANT));
  assert.is(await quotaWith({}), 100);
  assert.is(await quotaWith({ plan_status: 'canceled' }), 10);
});

test.run();
