import { z } from 'zod';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import { displayText, text } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import * as Skill from '../../domain/skills/skill.ts';
import { loadAgent } from '../agents/agent.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';

export const ConfigKey = displayText(1, 128)
  .refine((key) => key !== '__proto__', 'must not be __proto__')
  .meta({
    description: 'The field of the configuration of the skill that gets the value',
    examples: ['api_token'],
  });

export const CredentialRequestCreate = z
  .strictObject({
    skill_id: idOf('skill', 'The skill that needs the value; the agent must have it'),
    config_key: ConfigKey,
    prompt: text(1, 1024).meta({
      description: 'What the person who answers reads: what is needed, and where to find it',
      examples: ['A token of the issue tracker with the scope read:issues'],
    }),
  })
  .meta({ id: 'CredentialRequest' });

/** Returns the request as the API shows it at `at` (RFC 3339 UTC). */
export const requestView = ({ status, ...request }: CredentialRequest.CredentialRequest, at: string) => ({
  ...request,
  status: CredentialRequest.statusAt(status === 'absent' ? 'open' : status, request.expires_at, at),
});

const DAY_MS = 86_400_000;

/** The route has checked that the caller is the agent's runner. @throws Refusal not_found, invalid if the agent does not have the skill */
export const requestCredential = async (
  ctx: Ctx,
  { agent_id, skill_id, config_key, prompt }: Input<typeof CredentialRequestCreate, 'tenant_id' | 'agent_id'>,
): Promise<Loaded<ReturnType<typeof requestView>>> => {
  await checkOnce(ctx, async () => {
    const [{ state: agent }, { state: skill }] = await Promise.all([loadAgent(ctx, agent_id), ctx.load(Skill, skill_id)]);
    if (!agent.skills[skill_id] || skill.status !== 'live') throw invalid('/skill_id', 'is not a skill of this agent', 'unknown_skill');
  });
  const expires_at = new Date(Date.parse(ctx.at()) + CredentialRequest.REQUEST_LIFETIME_DAYS * DAY_MS).toISOString();
  const fields = { agent_id, skill_id, config_key, prompt, expires_at };
  const loaded = await ctx.transact(CredentialRequest, ctx.newId(), CredentialRequest.request(fields), { expectNew: true });
  return { ...loaded, state: requestView(loaded.state, ctx.at()) };
};
