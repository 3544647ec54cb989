import { createHash } from 'node:crypto';
import type { Log } from './event-log.ts';

/** The stream with the event that marks the first start as complete. */
export const MARKER_STREAM = 'platform-platform.first';

/**
 * The id is not secret: /readyz shows it, so that `annals doctor` can find out whether the service on a port belongs to this log. Null
 * before the first start.
 * @throws LogError
 */
export const platformIdOf = async (log: Log): Promise<string | null> => {
  const marker = await log.last(MARKER_STREAM);
  return marker && createHash('sha256').update(`platform ${marker.event_id}`).digest('hex').slice(0, 16);
};
