import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import { DisplayLine } from '../../domain/fields.ts';
import { EXAMPLE_IDS, Id25, isId25 } from '../../domain/id.ts';
import { trimHidden } from '../../domain/pasted-text.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import { replaceConfig } from '../../domain/skills/agent-skills.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { JsonObjectField } from '../json-schema-validator.ts';
import { loadAgentSkill } from '../skills/agent-skills.ts';
import { openSkillConfig, skillConfigLocation } from '../skills/skill-config.ts';
import { ConfigKey } from './credential-request.ts';

export const CredentialSubmit = z
  .strictObject({
    request_id: DisplayLine.min(1, 'must have at least 1 character').meta({
      description: 'The credential request to fulfil',
      examples: [EXAMPLE_IDS['credential request']],
    }),
    skill_id: DisplayLine.min(1, 'must have at least 1 character').meta({
      description: 'The skill of the request',
      examples: [EXAMPLE_IDS.skill],
    }),
    config_key: ConfigKey,
    value: z
      .string()
      .min(1, 'must have at least 1 character')
      .meta({ description: 'The value. It is stored encrypted, and only the runtime of the agent shows it', examples: ['<secret>'] }),
  })
  .meta({ id: 'CredentialSubmit' });

type Submission = Input<typeof CredentialSubmit, 'tenant_id'>;
type Config = z.output<typeof JsonObjectField>;

const RequestInBody = z.object({ request_id: Id25 });

/**
 * Checks the permission for the credential request that the body names. Bodies that are later refused as invalid pass: those without a
 * valid `request_id` and, if the caller sees all agents, those that name no existing request. @throws Refusal not_found, forbidden
 */
export const requireOnRequest = async (ctx: Ctx, body: unknown): Promise<void> => {
  const named = RequestInBody.safeParse(body);
  if (!named.success) return;
  const { state } = await ctx.load(CredentialRequest, named.data.request_id);
  await ctx.require('agent:skills:write', state.agent_id);
};

/** The submission must name the request's skill and key. @throws Refusal not_found, conflict, invalid */
const checkSubmission = (ctx: Ctx, request: CredentialRequest.CredentialRequest, { skill_id, config_key }: Submission): void => {
  CredentialRequest.assertOpen(request, ctx.at());
  if (skill_id !== request.skill_id) throw invalid('/skill_id', 'is not the skill of the request', 'wrong_skill');
  if (config_key !== request.config_key) throw invalid('/config_key', 'is not the key that the request asks for', 'wrong_key');
};

/** The part of an object's schema about one field, without requirements for others. */
const schemaOfField = ({ $schema, $defs, definitions, properties, additionalProperties }: Config, key: string): Config => {
  const named = typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key);
  const parts = {
    ...{ $schema, $defs, definitions, additionalProperties },
    ...(named && { properties: { [key]: (properties as Config)[key] } }),
  };
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
};

/** Other required fields may be missing: further requests can ask for them. @throws Refusal invalid if the value does not match */
const checkValue = (ctx: Ctx, schema: Config | null, config: Config, { config_key, value }: Submission): void => {
  const { error } = JsonObjectField.safeParse(config);
  if (error) throw invalid('/value', `the configuration ${error.issues[0]!.message}`, 'too_big');
  const fault = schema && ctx.checks.jsonSchemas.faultOfValue(schemaOfField(schema, config_key), { [config_key]: value });
  if (fault) throw invalid('/value', fault.message, fault.code);
};

/** Returns the agent's new revision; null if the configuration was changed at the same time. @throws Refusal not_found, invalid */
const writeValue = async (ctx: Ctx, agent_id: string, submission: Submission): Promise<number | null> => {
  const { skill_id, config_key, value } = submission;
  const agent = await loadAgentSkill(ctx, agent_id, skill_id);
  const current = await openSkillConfig(ctx, agent, skill_id);
  const config = { ...current, [config_key]: value };
  checkValue(ctx, agent.skill.config_schema, config, submission);
  const before = agent.state.skills[skill_id]!.config?.revision ?? null;
  if (before !== null && jsonEqual(current, config)) return before;
  const sealed = await ctx.secrets.seal(skillConfigLocation(ctx, agent_id, skill_id), secret(JSON.stringify(config)));
  let isStale = false;
  const { state } = await ctx.transact(
    Agent,
    agent_id,
    (now) => {
      isStale = (now.skills[skill_id]?.config?.revision ?? null) !== before;
      return isStale ? [] : replaceConfig(skill_id, sealed)(now);
    },
    { ignoreExpectedRevision: true },
  );
  return isStale ? null : state.skills[skill_id]!.config!.revision;
};

/** A value of one line without the line end and invisible characters that copying adds. Keys of several lines stay as they are. */
const cleanValue = (pasted: string): string => {
  const value = trimHidden(pasted);
  return value === '' || /[\r\n]/.test(value) ? pasted : value;
};

/** How often writing the value is tried while other requests change the configuration. */
const MAX_ATTEMPTS = 10;

/** Returns the revision at which the configuration contains the value. @throws Refusal not_found, invalid, unavailable */
const writeRepeatedly = async (ctx: Ctx, agent_id: string, submission: Submission): Promise<number> => {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const revision = await writeValue(ctx, agent_id, submission);
    if (revision !== null) return revision;
  }
  throw new Refusal('unavailable', 'The configuration of the skill changes too often: try again', { retryAfter: 1 });
};

/**
 * Writes the configuration first: after a crash before the request is fulfilled, a value can be submitted again.
 * @throws Refusal not_found, conflict if the request is fulfilled or has expired, invalid, unavailable
 */
export const submitCredential = async (ctx: Ctx, submission: Submission): Promise<Loaded<null>> => {
  const { request_id } = submission;
  const request = isId25(request_id) ? (await ctx.load(CredentialRequest, request_id)).state : CredentialRequest.initial;
  CredentialRequest.assertExists(request);
  // A repeat with the same Idempotency-Key does not write the value again.
  const revision = await ctx.sideEffect(async () => {
    checkSubmission(ctx, request, submission);
    return writeRepeatedly(ctx, request.agent_id, { ...submission, value: cleanValue(submission.value) });
  });
  return { ...(await ctx.transact(CredentialRequest, request_id, CredentialRequest.fulfil(revision))), state: null };
};
