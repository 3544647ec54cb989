import { z } from 'zod';
import { integer, Timestamp } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { checkedCount, type GuardrailHits, guardrailHits, MAX_COUNTED } from '../../projections/guardrails/guardrail-hits.queries.ts';
import { operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;

const count = (what: string) => z.int().meta({ description: `How many deliveries it ${what}`, examples: [3] });

export const GuardrailSummary = z
  .object({
    from: Timestamp.meta({ description: 'The start of the period, which ends now. It is at the start of a minute' }),
    deliveries: z.int().meta({
      description: `How many verified deliveries of the period were counted: at most the newest ${MAX_COUNTED}`,
      examples: [1917],
    }),
    exact: z.boolean().meta({ description: 'Whether these are all of the period. Otherwise, each count is the least that is possible' }),
    rules: z
      .array(
        z.object({
          rule: z.string().meta({
            description:
              'The name of the rule or of the built-in check. Rules of the tenant and of integrations with the same name are added up',
            examples: ['no-bots'],
          }),
          blocked: count('has blocked'),
          redacted: count('has redacted'),
          labelled: count('has labelled'),
          held: count('has held'),
          last_at: Timestamp.meta({ description: 'When the last of them was received' }),
        }),
      )
      .meta({ description: 'The rules and checks that applied to deliveries, by name. The others applied to none' }),
  })
  .meta({ id: 'GuardrailSummary' });

const WORDS = { block: 'blocked', redact: 'redacted', label: 'labelled', hold: 'held' } as const;

const ruleOf = (rule: string, hits: readonly GuardrailHits[]) => ({
  rule,
  ...{ blocked: 0, redacted: 0, labelled: 0, held: 0 },
  ...Object.fromEntries(hits.map(({ verdict, count: found }) => [WORDS[verdict], found])),
  last_at: hits.reduce((last, { last_at }) => (last_at > last ? last_at : last), ''),
});

export const guardrailSummaryOperations = {
  summarizeGuardrails: operation({
    method: 'get',
    path: '/tenant/:tenant_id/guardrails/summary',
    summary: 'Count what each guardrail rule has done',
    details: 'Counts the verdicts at the receipt of the deliveries of the last hours, also those of the built-in checks.',
    permit: 'tenant:integrations:read',
    query: z.strictObject({
      hours: Decimal(integer(1, MAX_HOURS).default(DEFAULT_HOURS)).meta({ description: 'How many hours until now are counted' }),
      integration_id: Id25.optional().meta({ description: 'Only deliveries to this webhook integration' }),
    }),
    reply: GuardrailSummary,
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, hours, integration_id }) => {
      // Rounded, so that requests of the same minute share their queries.
      const from = new Date(Math.floor((Date.parse(ctx.at()) - hours * HOUR_MS) / MINUTE_MS) * MINUTE_MS).toISOString();
      const args = { tenant_id, from, integration_id };
      const [found, total] = await Promise.all([guardrailHits(ctx.reads, args), checkedCount(ctx.reads, args)]);
      const rules = [...Map.groupBy(found, ({ rule }) => rule)]
        .map(([rule, hits]) => ruleOf(rule, hits))
        .sort((one, other) => (one.rule < other.rule ? -1 : 1));
      return {
        doc: JSON.stringify({ from, deliveries: Math.min(total, MAX_COUNTED), exact: total <= MAX_COUNTED, rules }),
        revision: null,
      };
    },
  }),
};
