import { z } from 'zod';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { isTimeZone } from '../../domain/time-zone.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input } from '../context.ts';

const limit = (max: number, per: string) =>
  z
    .int()
    .min(1)
    .max(max)
    .nullable()
    .meta({ description: `The most deliveries from Slack per ${per}; null: no limit`, examples: [60] });

const LocalTime = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:00');

export const slackConfigFields = {
  slack_rph_limit: limit(86_400, 'hour'),
  slack_rpm_limit: limit(3_600, 'minute'),
  working_hours_days: z
    .array(z.enum(SlackConfig.WEEKDAYS))
    .max(7)
    .refine((days) => new Set(days).size === days.length, 'must not contain the same day twice')
    .nullable()
    .meta({ description: 'The days on which the agent works; null: Monday to Friday', examples: [['Mon', 'Tue']] }),
  working_hours_enabled: z.boolean().nullable().meta({ description: 'Whether the agent works only during its working hours; null: no' }),
  working_hours_start: LocalTime.nullable().meta({ description: 'When the working hours start, as HH:MM', examples: ['09:00'] }),
  working_hours_end: LocalTime.nullable().meta({
    description: 'When the working hours end, as HH:MM; after their start on the same day',
    examples: ['17:30'],
  }),
  working_hours_tz: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be the name of a time zone such as Europe/Berlin')
    .nullable()
    .meta({ description: 'The time zone of the working hours; null: UTC', examples: ['Europe/Berlin'] }),
  when_closed: z
    .enum(SlackConfig.WHEN_CLOSED)
    .nullable()
    .meta({
      description:
        'What happens to deliveries outside the working hours and beyond the limits: `block`, or `hold` until they can continue. Null: `block`',
      examples: ['hold'],
    }),
};

export const AgentSlackConfigUpdate = z
  .strictObject(slackConfigFields)
  .partial()
  .meta({ id: 'AgentSlackConfigUpdate', examples: [{ slack_rpm_limit: 10, working_hours_enabled: true }] });

/** @throws Refusal not_found if the agent does not exist, invalid */
export const changeSlackConfig = async (
  ctx: Ctx,
  { tenant_id: _, agent_id, ...changes }: Input<typeof AgentSlackConfigUpdate, 'tenant_id' | 'agent_id'>,
) => {
  const { inherited_slack_config: inherited } = (await loadAgent(ctx, agent_id)).state;
  const loaded = await ctx.transact(SlackConfig, agent_id, SlackConfig.change(changes, inherited));
  return { ...loaded, state: SlackConfig.settingsInEffect(loaded.state, inherited) };
};
