import {
  type HidingEvent,
  type HidingPorts,
  hideSkillWebhook,
  hidingEventTypes,
} from '../../commands/webhooks/hide-skill-webhooks.reactor.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as SkillWebhook from '../../domain/webhooks/skill-webhook.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { type FollowerParts, followEvents } from './follow-events.ts';

/**
 * Creates the ports with which the reactor works. They have no subscription to the log, so every state is read from the
 * log.
 */
const hidingPorts = (log: Log): HidingPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    load: cache.refresh,
    transact: (id, decide, { seed, ...meta }) =>
      transact({ aggregate: SkillWebhook, tenant: PLATFORM, id, decide, meta: { ...meta, v: 1 }, seed }),
  };
};

/**
 * Starts the reactor that hides the webhooks of skills that are deleted, or that were revoked from their agent. Calls
 * of such a webhook are refused in any case; hiding it also shows this on the skill. Any number of processes can run
 * this reactor.
 */
export const startSkillWebhookHider = (parts: FollowerParts): { close: () => Promise<void> } => {
  const ports = hidingPorts(parts.log);
  return followEvents(
    {
      name: 'skill webhooks',
      eventTypes: hidingEventTypes,
      handle: (event) => hideSkillWebhook(ports, event as HidingEvent, new Date().toISOString()),
      failure: 'skill webhooks cannot be hidden now; trying again',
    },
    parts,
  );
};
