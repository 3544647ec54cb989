import * as Agent from '../../domain/agents/agent.ts';
import type { Aggregate } from '../../domain/aggregate.ts';
import { type DomainEvent, PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import { mayUse } from '../../domain/skills/agent-skills.ts';
import * as Skill from '../../domain/skills/skill.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateReader } from '../context.ts';
import { acceptsDeliveries } from '../deliveries/delivery-eligibility.ts';
import type { SkillTarget } from './skill-call-ports.ts';

const NO_WEBHOOK: SkillTarget = { webhook: SkillWebhook.initial, fault: null };

type States = { readonly tenant: Tenant.Tenant; readonly skill: Skill.Skill; readonly agent: Agent.Agent };

/** Calls for a deleted agent are accepted and blocked, as for an inactive one. */
const faultOf = ({ status, id }: SkillWebhook.SkillWebhook, { tenant, skill, agent }: States): SkillTarget['fault'] => {
  if (!acceptsDeliveries(tenant)) return 'tenant_suspended';
  if (skill.status !== 'live') return 'skill_deleted';
  if (status !== 'exposed') return 'hidden';
  if (agent.status !== 'live') return null;
  if (!agent.skills[id]) return 'skill_revoked';
  return mayUse(agent, id) ? null : 'skill_disabled';
};

/** Each call checks the webhook, its tenant, the skill, and whether the agent may use it. A promise only if the log must be read. */
export const createSkillTarget = ({ loadCached }: AggregateReader): ((id: string) => SkillTarget | Promise<SkillTarget>) => {
  const withStates = <S, E extends DomainEvent, R>(
    aggregate: Aggregate<S, E>,
    [tenant, id]: readonly [string, string],
    use: (state: S) => R | Promise<R>,
  ): R | Promise<R> => {
    const loaded = loadCached(aggregate, tenant, id);
    return loaded instanceof Promise ? loaded.then(({ state }) => use(state)) : use(loaded.state);
  };
  return (id) => {
    if (!isId25(id)) return NO_WEBHOOK;
    return withStates(SkillWebhook, [PLATFORM, id], (webhook): SkillTarget | Promise<SkillTarget> => {
      const { status, tenant_id, agent_id } = webhook;
      if (status === 'absent') return NO_WEBHOOK;
      return withStates(Tenant, [tenant_id, tenant_id], (tenant) =>
        withStates(Skill, [tenant_id, id], (skill) =>
          withStates(Agent, [tenant_id, agent_id], (agent) => ({ webhook, fault: faultOf(webhook, { tenant, skill, agent }) })),
        ),
      );
    });
  };
};
