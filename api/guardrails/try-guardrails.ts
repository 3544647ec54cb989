import { z } from 'zod';
import { checkOnce } from '../../commands/check-once.ts';
import {
  assertIntegration,
  checkTrial,
  GuardrailTrial,
  MAX_TRIED,
  type TrialPorts,
  tryGuardrails,
} from '../../commands/guardrails/try-guardrails.ts';
import { PreviewField } from '../../domain/deliveries/payload-preview.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { triedDeliveries } from '../../projections/guardrails/tried-deliveries.queries.ts';
import { operation } from '../http/operation.ts';

const Verdict = z.enum(['pass', 'label', 'redact', 'hold', 'block']);

const GuardrailTrialRow = z
  .object({
    delivery_id: idOf('delivery'),
    event: z
      .string()
      .nullable()
      .meta({ description: "The event, by the provider's name of it; null if it has none", examples: ['push'] }),
    provider: z.string().meta({ description: 'Who sent the delivery', examples: ['github'] }),
    received_at: Timestamp.meta({ description: 'When it was received' }),
    preview: z.array(PreviewField).meta({ description: 'At most two fields of the payload that tell deliveries apart' }),
    verdict_now: Verdict.nullable().meta({
      description:
        'The strongest verdict with the tried rules; null if they were not tried: the body is too large, or the trial took too long',
      examples: ['redact'],
    }),
    verdict_then: Verdict.meta({ description: 'The strongest verdict when the delivery was received', examples: ['pass'] }),
    rule: z
      .string()
      .nullable()
      .meta({ description: 'The rule or the built-in check with the verdict now', examples: ['no-secrets'] }),
    redactions: z.int().meta({ description: 'How many parts of the body the tried rules would replace', examples: [1] }),
    microseconds: z.int().meta({ description: 'How long the tried rules took, in microseconds', examples: [180] }),
    times: z
      .array(
        z.object({
          rule: z.string().meta({ description: 'The rule; `redaction`: the redaction patterns', examples: ['no-secrets'] }),
          microseconds: z.int().meta({ description: 'How long it took, in microseconds', examples: [180] }),
        }),
      )
      .meta({ description: 'How long each rule took that was evaluated' }),
  })
  .meta({ id: 'GuardrailTrialRow' });

/** Creates the operation that tries guardrail rules. `ports` read deliveries from the log and evaluate the rules. */
export const tryGuardrailsOperationOf = (ports: TrialPorts) => ({
  tryGuardrails: operation({
    method: 'post',
    path: '/tenant/:tenant_id/guardrails/try',
    summary: 'Try guardrail rules on past deliveries',
    details: `Records nothing. Tries the ${MAX_TRIED} newest verified deliveries of the time, and lists the newest first. The verdicts of built-in checks stay as they were. Bodies are tried as they are stored: what was redacted then is not found again.`,
    permit: 'tenant:integrations:read',
    body: GuardrailTrial,
    reply: z.array(GuardrailTrialRow),
    readsOnly: true,
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, input) => {
      const selected = { tenant_id: ctx.tenant, integration_id: input.integration_id, ...checkTrial(ctx, input) };
      await checkOnce(ctx, () => assertIntegration(ctx, input));
      const ids = await ctx.sideEffect(() => triedDeliveries(ctx.reads, selected, MAX_TRIED));
      const rows = await ctx.sideEffect(() => tryGuardrails(ctx, ports, input, ids.toReversed()));
      return { id: ctx.tenant, state: rows.toReversed(), revision: -1, position: null };
    },
  }),
});
