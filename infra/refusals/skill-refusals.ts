import { category, type RefusedCall, type SkillRefusalEvent } from '../../domain/skill-calls/skill-refusal.ts';
import type { SkillWebhook } from '../../domain/skill-calls/skill-webhook.ts';
import { clientOf } from '../ratelimit/failed-credentials.ts';
import { randomId } from '../vault/unique-id.ts';
import { type BatchDeps, batchedWriter } from './batched-writer.ts';
import { type HourlyKind, hourlyCounter } from './hourly-counter.ts';

type Refused = { readonly agent_id: string; readonly call: RefusedCall };

const kind: HourlyKind<Refused, SkillRefusalEvent> = {
  listed: (refused) => ({
    type: 'SkillWebhookRefused',
    data: { agent_id: refused.at(-1)!.agent_id, calls: refused.map(({ call }) => call) },
  }),
  summed: ({ latest, isOfMany, count, first, last }) => ({
    type: 'SkillWebhookRefusalsCounted',
    data: { id: latest.call.id, agent_id: latest.agent_id, ip: isOfMany ? null : latest.call.ip, count, first, last },
  }),
  callerOf: ({ call }) => clientOf(call.ip),
};

export const skillRefusalCounter = () => hourlyCounter(kind);

/** Records after the responses. Calls of a webhook that does not exist are not recorded, because they belong to no tenant. */
export const skillRefusalWriter = (deps: BatchDeps) => {
  const { add, close } = batchedWriter<Refused, SkillRefusalEvent>(deps, {
    category,
    createCounter: skillRefusalCounter,
    meta: (id) => ({ actor: { kind: 'system', id } }),
  });
  return {
    record: ({ status, id, tenant_id, agent_id }: SkillWebhook, call: Omit<RefusedCall, 'id'>): void => {
      if (status !== 'absent') add(tenant_id, id, { agent_id, call: { id: randomId(), ...call } }, call.at);
    },
    close,
  };
};
