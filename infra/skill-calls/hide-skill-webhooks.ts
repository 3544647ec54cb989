import { type HidingEvent, hideSkillWebhook, hidingEventTypes } from '../../commands/skill-calls/hide-skill-webhooks.reactor.ts';
import { following } from '../reactors/follow-events.ts';

/**
 * Hides the webhooks of skills that are deleted, or revoked from their agent. Calls of such a webhook are refused in any case; hiding it
 * also shows this on the skill.
 */
export const skillWebhookHiding = following({
  name: 'skill webhooks',
  eventTypes: hidingEventTypes,
  failure: 'skill webhooks cannot be hidden now; trying again',
  handle: (ctx, event) => hideSkillWebhook(ctx, event as HidingEvent),
});
