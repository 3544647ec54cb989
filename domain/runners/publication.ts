import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../event.ts';

export const category = 'publication';

/** The id of the stream. The platform has one stream of these events. */
export const STREAM_ID = 'messages';

export const platform = true;

/**
 * The messages of all relayed events up to and including the log position `through` (a consistency token) have been
 * published to the broker. One event stands for all messages since the previous one.
 */
export type PublicationEvent = { type: 'MessagesPublished'; data: { through: string } };

export type Publication = { through: Position | null };

export const initial: Publication = { through: null };

export const evolve = (_: Publication, { data }: Recorded<PublicationEvent>): Publication => ({ through: parseToken(data.through) });

/** Records that all messages up to this log position are published. Does nothing if this is already recorded. */
export const recordPublished =
  (published: Position) =>
  ({ through }: Publication): PublicationEvent[] =>
    through && comparePositions(published, through) <= 0 ? [] : [{ type: 'MessagesPublished', data: { through: tokenOf(published) } }];
