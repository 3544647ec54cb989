import { z } from 'zod';
import { type DeliveryEvent, factsOf } from '../../domain/deliveries/delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { SkillCallFacts } from '../../domain/skill-calls/skill-call.ts';
import type { RefusedCall, SkillRefusalEvent } from '../../domain/skill-calls/skill-refusal.ts';
import { Caller } from '../deliveries/caller.ts';
import { type Change, insert, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';

export const INVOCATION_OUTCOMES = ['accepted', 'rejected'] as const;

export const InvocationRead = z
  .object({
    id: idOf('delivery', 'The id of the call; also that of the delivery if the token was valid and the call was recorded'),
    skill_id: idOf('skill'),
    agent_id: idOf('agent', 'The agent for which the skill is exposed'),
    caller: Caller.meta({ description: 'Who called' }),
    at: Timestamp.meta({ description: 'When the call was received' }),
    outcome: z.enum(INVOCATION_OUTCOMES).meta({ description: '`accepted`: sent to the agent; `rejected`: refused or blocked' }),
    reason: z
      .string()
      .nullable()
      .meta({
        description: 'Why the call was rejected, such as `token_invalid` or `agent_inactive`; null if it was not',
        examples: [null],
      }),
    count: z
      .int()
      .min(1)
      .meta({
        description:
          'The number of calls. It is more than 1 for refused calls beyond the first 100 of an IP address in an hour, which are counted',
        examples: [1],
      }),
    first_at: Timestamp.nullable().meta({
      description: 'When the first of several counted calls was received; `at` is the last one. Null for a single call',
    }),
  })
  .meta({ id: 'InvocationRead' });

export const table = {
  name: 'invocations',
  key: ['tenant_id', 'id'],
  appendOnly: true,
  columns: { tenant_id: 'text', id: 'text', skill_id: 'text', outcome: 'text', at: 'timestamptz' },
  docs: { doc: InvocationRead },
  indexes: [{ columns: ['tenant_id', 'skill_id', 'at', 'id'] }],
} as const satisfies Table;

const ONE = { count: 1, first_at: null };

type CalledEvent = Recorded<Extract<DeliveryEvent, { type: 'SkillWebhookCalled' | 'SkillWebhookBlocked' | 'SkillWebhookHeld' }>>;

const insertCalled = (event: CalledEvent): Change => {
  const { id, tenant, at, meta } = event;
  const { skill_id, agent_id, reason } = factsOf(event) as SkillCallFacts;
  const caller = { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null };
  const outcome = event.type === 'SkillWebhookBlocked' ? 'rejected' : 'accepted';
  return insert('invocations', { tenant_id: tenant, id, skill_id, agent_id, caller, at, outcome, reason, ...ONE });
};

type RefusedEvent = Extract<SkillRefusalEvent, { type: 'SkillWebhookRefused' }>;
type CountedEvent = Extract<SkillRefusalEvent, { type: 'SkillWebhookRefusalsCounted' }>;

const insertRefused =
  ({ id: skill_id, tenant: tenant_id, data: { agent_id } }: Recorded<RefusedEvent>) =>
  ({ id, at, ip, user_agent, reason }: RefusedCall): Change =>
    insert('invocations', { tenant_id, id, skill_id, agent_id, caller: { ip, user_agent }, at, outcome: 'rejected', reason, ...ONE });

const insertCounted = ({ id: skill_id, tenant: tenant_id, data }: Recorded<CountedEvent>): Change => {
  const { id, agent_id, ip, count, first, last } = data;
  const caller = { ip, user_agent: null };
  return insert('invocations', {
    ...{ tenant_id, id, skill_id, agent_id, caller, at: last },
    ...{ outcome: 'rejected', reason: 'counted', count, first_at: first },
  });
};

/** The calls of skills' webhooks: accepted, blocked and refused ones. */
export const invocations = {
  name: 'invocations',
  version: 2,
  categories: ['delivery', 'skillrefusal'],
  tables: [table],
  on: {
    SkillWebhookCalled: insertCalled,
    SkillWebhookBlocked: insertCalled,
    SkillWebhookHeld: insertCalled,
    SkillWebhookRefused: (event) => event.data.calls.map(insertRefused(event)),
    SkillWebhookRefusalsCounted: insertCounted,
    WebhookAccepted: 'ignore',
    CronJobTriggered: 'ignore',
    BenchmarkRunTriggered: 'ignore',
    MailReceived: 'ignore',
    MailBlocked: 'ignore',
    WebhookBlocked: 'ignore',
    WebhookHeld: 'ignore',
    MailHeld: 'ignore',
    HeldDeliveryExpired: 'ignore',
    WebhookRedeliveryDiffered: 'ignore',
    DeliveryRequeued: 'ignore',
    DeliveryReleased: 'ignore',
  },
} as const satisfies Projection<DeliveryEvent | SkillRefusalEvent>;
