import { z } from 'zod';
import { jsonOf, mediaOf } from '../../domain/bodies/body-inspection.ts';
import * as Delivery from '../../domain/deliveries/delivery.ts';
import { contentIn, MAIL_PROVIDER } from '../../domain/deliveries/mail-delivery.ts';
import { withoutSplitMatches } from '../../domain/deliveries/redacted-mail.ts';
import { assertReleasable, release, unredactable } from '../../domain/deliveries/release.ts';
import type { ReleaseChecks, ReleasedBody } from '../../domain/deliveries/release-fields.ts';
import type { Actor } from '../../domain/event.ts';
import { displayText } from '../../domain/fields.ts';
import type { RulesResult } from '../../domain/guardrails/guardrail-evaluation.ts';
import { type RuleSet, redactsBodies, releaseRules } from '../../domain/guardrails/rule-set.ts';
import { Id25 } from '../../domain/id.ts';
import type { GuardedSource } from '../../domain/integrations/integration.ts';
import { sumHits } from '../../domain/redaction/redaction-patterns.ts';
import { invalid, notFound, Refusal } from '../../domain/refusal.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { MAX_CHECKED } from './apply-guardrails.ts';
import { isUnreadableBody, type ReadDelivery, type StoredDelivery, unreadableBody } from './delivery.ts';
import { checkAgent } from './redeliver.ts';
import type { GuardrailPort } from './webhook-ports.ts';

export const ReleaseReason = displayText(1, 500);

export const Release = z
  .strictObject({
    reason: ReleaseReason.meta({ description: 'Why; the audit log shows it', examples: ['The sender is known'] }),
    agent_id: Id25.nullish().meta({ description: 'The agent that gets the delivery; absent: the agent to which it was addressed' }),
  })
  .meta({ id: 'DeliveryRelease', examples: [{ reason: 'The sender is known' }] });

export type DeliveryRef = { readonly tenant_id: string; readonly id: string };

export type ReleasePorts = {
  readonly readDelivery: ReadDelivery;
  /** The current source. It has only the tenant's rules if it is not a connected integration. */
  readonly sourceOf: (tenant_id: string, facts: Delivery.DeliveryFacts) => Promise<GuardedSource>;
  readonly guardrails: Pick<GuardrailPort, 'ruleSet' | 'evaluate'>;
  /** Stores it encrypted. @throws Refusal unavailable */
  readonly storeBody: (delivery: DeliveryRef, facts: Delivery.DeliveryFacts, bytes: Uint8Array) => Promise<ReleasedBody>;
};

const RETRY_AFTER_SECONDS = 10;

const TIMEOUT = 'redaction_timeout';

const redactionTimeout = (): Refusal => {
  const message = 'The rules that redact could not be applied to the body in time: try again, or make them simpler';
  const errors = [{ pointer: '/path/delivery_id', code: TIMEOUT, message }];
  return new Refusal('unavailable', message, { retryAfter: RETRY_AFTER_SECONDS, errors });
};

/** The delivery cannot be released or redacted, the redaction took too long, or its body cannot be read. */
export const isFaultOfDelivery = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.code === 'conflict' || error.extra.errors?.[0]?.code === TIMEOUT || isUnreadableBody(error));

const wholeBody = async ({ body }: StoredDelivery): Promise<Uint8Array> => {
  if (body instanceof Uint8Array) return body;
  if ('unreadable' in body) throw unreadableBody(body.unreadable);
  return Buffer.concat(await Array.fromAsync(body));
};

/**
 * Applies current rules that do not block, and checks of the content. Null if there is nothing to apply.
 * @throws Refusal conflict if the body cannot be redacted, unavailable if the redaction took too long
 */
const evaluate = async (ports: ReleasePorts, source: GuardedSource, stored: StoredDelivery, set: RuleSet): Promise<RulesResult | null> => {
  const { facts } = stored;
  const body = await wholeBody(stored);
  const media = mediaOf(facts.content_type);
  const json = media && jsonOf({ media, forms: 'fields' }, body);
  if (json !== 'json' && json !== 'form') {
    if (redactsBodies(set)) throw unredactable('its body is not JSON of at most 64 levels, and the tenant has rules that redact');
    return null;
  }
  const subject = { size: body.length, event: facts.event, causationDepth: facts.cause?.depth ?? 0 };
  const content = { body, media: media!, json, needsChecks: body.length <= MAX_CHECKED };
  const result = await ports.guardrails.evaluate(set, { tenant: source.tenant_id, integration: source.id }, subject, content);
  if (result?.reason) throw unredactable(result.verdicts.at(-1)?.note ?? result.reason);
  if (!result && redactsBodies(set)) throw redactionTimeout();
  return result;
};

/** Returns the verdicts that found something and that the delivery does not have yet. */
const newVerdicts = ({ guardrails }: Delivery.DeliveryFacts, { verdicts }: RulesResult) =>
  verdicts.filter(
    ({ rule, verdict }) => verdict !== 'pass' && !guardrails.some((known) => known.rule === rule && known.verdict === verdict),
  );

const redactedBody = (stored: StoredDelivery, bytes: Uint8Array): Uint8Array =>
  stored.facts.provider === MAIL_PROVIDER ? withoutSplitMatches(contentIn(stored.body as Uint8Array), bytes) : bytes;

/** Redacts by the tenant's current rules and patterns; stores a changed body. @throws Refusal not_found, conflict, unavailable */
export const prepareRelease = async (ports: ReleasePorts, delivery: DeliveryRef): Promise<ReleaseChecks> => {
  const stored = await ports.readDelivery(delivery.tenant_id, delivery.id);
  if (!stored) throw notFound();
  const { facts } = stored;
  const mail = facts.mail ? { mail: facts.mail } : {};
  const source = await ports.sourceOf(delivery.tenant_id, facts);
  const rules = releaseRules(await ports.guardrails.ruleSet(source));
  // The delivery was checked when it arrived, but the rules that redact may have changed since.
  if (facts.held && !redactsBodies(rules)) return { guardrails: [], ...mail };
  const result = await evaluate(ports, source, stored, rules);
  if (!result) return { guardrails: [], ...mail };
  const guardrails = newVerdicts(facts, result);
  if (!result.bytes) return { guardrails, ...mail };
  const body = await ports.storeBody(delivery, facts, redactedBody(stored, result.bytes));
  return { guardrails, redactions: sumHits([...(facts.redactions ?? []), ...result.redactions]), body, ...mail };
};

/** Refuses other agents: they do not have the mail in their mailboxes. @throws Refusal invalid */
export const assertOwnMail = ({ facts }: Delivery.Delivery, agent_id: string): void => {
  if (facts?.provider === MAIL_PROVIDER && facts.agent_id !== agent_id)
    throw invalid('/agent_id', 'must be the agent to which the mail was sent, or absent', 'other_mailbox');
};

export type ReleaseView = {
  id: string;
  message_id: string;
  agent_id: string;
  released_at: string;
  released_by: Pick<Actor, 'kind' | 'id'>;
};

const viewOf = (id: string, { message_id, agent_id, released }: Delivery.Delivery): ReleaseView => {
  const { at, actor } = released!;
  return { id, message_id: message_id!, agent_id: agent_id!, released_at: at, released_by: { kind: actor.kind, id: actor.id } };
};

/**
 * Sends the delivery redacted. The caller must be allowed to assign work to the agent.
 * @throws Refusal not_found, invalid, forbidden, conflict, unavailable
 */
export const releaseDelivery = async (
  ctx: Ctx,
  { delivery_id, agent_id, reason }: Input<typeof Release, 'delivery_id'>,
  ports: ReleasePorts,
): Promise<Loaded<ReleaseView>> => {
  const { state } = await ctx.load(Delivery, delivery_id);
  if (state.status === 'absent') throw notFound();
  const target = agent_id ?? state.facts!.agent_id;
  const checks = await ctx.sideEffect(async () => {
    await checkAgent(ctx, target);
    await ctx.require('agent:assign', target);
    assertReleasable(state);
    assertOwnMail(state, target);
    return prepareRelease(ports, { tenant_id: ctx.tenant, id: delivery_id });
  });
  const released = await ctx.transact(Delivery, delivery_id, release({ agent_id: target, reason, ...checks }));
  return { ...released, state: viewOf(delivery_id, released.state) };
};
