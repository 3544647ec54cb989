import { z } from 'zod';
import {
  exposeSkill,
  hideSkill,
  readSkillWebhook,
  rotateSkillToken,
  SkillWebhookExpose,
} from '../../commands/skill-calls/skill-webhook.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { notFound } from '../../domain/refusal.ts';
import { invocationPage } from '../../projections/skill-calls/invocation.queries.ts';
import { INVOCATION_OUTCOMES, InvocationRead, invocations } from '../../projections/skill-calls/invocation.ts';
import { skills } from '../../projections/skills/skill.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, parseSort, TimeRange } from '../http/paging.ts';
import { readSkill } from '../skills/skill.ts';

const SKILL = '/tenant/:tenant_id/skills/:skill_id';
const WEBHOOK = `${SKILL}/webhook`;
const SORTS = ['at'];
const permit = 'tenant:skills:write';

const SkillWebhookRead = z
  .object({
    skill_id: idOf('skill'),
    agent_id: idOf('agent', 'The agent that gets the calls'),
    url: z.string().meta({
      description: 'The URL that external systems call',
      examples: ['https://annals.example.com/hooks/skills/cke0w9ax4rhv1tn7dq3zs5mjf'],
    }),
    created_at: Timestamp.meta({ description: 'When the skill was exposed' }),
    updated_at: Timestamp,
  })
  .meta({ id: 'SkillWebhookRead' });

const SkillWebhookToken = SkillWebhookRead.extend({
  token: z
    .string()
    .nullable()
    .meta({
      description: 'The token that callers send. Only this response contains it; null if the skill was exposed before',
      examples: ['ann_skill_k3J8v0Qx2mZr7Ls5Yt9Wb4Nc6Pd1Hf8Gq3Ue0Ai7'],
    }),
}).meta({ id: 'SkillWebhookToken' });

export const skillWebhookOperations = {
  getSkillWebhook: operation({
    method: 'get',
    path: WEBHOOK,
    summary: 'Read the webhook of a skill',
    permit,
    reply: SkillWebhookRead,
    query: asOfQuery,
    run: readSkillWebhook,
  }),
  exposeSkill: operation({
    method: 'put',
    path: WEBHOOK,
    summary: 'Expose a skill at a public URL',
    details:
      'The agent must have the skill. Only the first response shows the token. If the skill is exposed already, the token stays, and the calls go to the given agent from then on.',
    permit,
    body: SkillWebhookExpose,
    reply: SkillWebhookToken,
    status: 201,
    alternateStatus: 200,
    location: WEBHOOK,
    oneTimeSecret: true,
    run: exposeSkill,
  }),
  hideSkill: operation({
    method: 'delete',
    path: WEBHOOK,
    summary: 'Hide a skill',
    details: 'Its webhook refuses every call. A skill that is exposed again has the same URL and another token.',
    permit,
    run: hideSkill,
  }),
  rotateSkillToken: operation({
    method: 'post',
    path: `${WEBHOOK}/rotate-token`,
    summary: "Replace the token of a skill's webhook",
    details: 'The token before it is refused from then on. Only this response shows the new one.',
    permit,
    reply: SkillWebhookToken,
    location: WEBHOOK,
    oneTimeSecret: true,
    run: rotateSkillToken,
  }),
  listSkillInvocations: operation({
    method: 'get',
    path: `${SKILL}/invocations`,
    summary: "List the calls of a skill's webhook",
    details: 'Accepted and refused ones. An accepted call is also a delivery, with the same id.',
    permit: 'tenant:read',
    query: listQuery(
      { outcome: z.enum(INVOCATION_OUTCOMES).optional().meta({ description: 'Only calls with this outcome' }), ...TimeRange },
      SORTS,
    ),
    reply: z.array(InvocationRead),
    projection: invocations.name,
    otherProjections: [skills.name],
    run: async (ctx, { skill_id, outcome, from, to, limit, cursor, sort }) => {
      if (!(await readSkill(ctx, skill_id))) throw notFound();
      const window = { sort: parseSort(sort ?? '-at', SORTS), limit, cursor };
      return invocationPage(ctx.reads, { tenant_id: ctx.tenant, skill_id }, { outcome, from, to }, window);
    },
  }),
};
