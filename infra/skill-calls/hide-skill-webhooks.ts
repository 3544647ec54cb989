import { type HidingEvent, hideSkillWebhook, hidingEventTypes } from '../../commands/skill-calls/hide-skill-webhooks.reactor.ts';
import { ignoreErased, reactorContext } from '../aggregates/reactor-context.ts';
import { type FollowerParts, followEvents } from '../reactors/follow-events.ts';

/**
 * Starts the reactor that hides the webhooks of skills that are deleted, or that were revoked from their agent. Calls
 * of such a webhook are refused in any case; hiding it also shows this on the skill. Any number of processes can run
 * this reactor.
 */
export const startSkillWebhookHider = (parts: FollowerParts): { close: () => Promise<void> } => {
  const ctx = reactorContext(parts.log);
  return followEvents(
    {
      name: 'skill webhooks',
      eventTypes: hidingEventTypes,
      handle: (event) => hideSkillWebhook(ctx.withSeed(event.event_id), event as HidingEvent).catch(ignoreErased),
      failure: 'skill webhooks cannot be hidden now; trying again',
    },
    parts,
  );
};
