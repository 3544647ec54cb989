import { comparePositions, type Position, parseToken, type Recorded, tokenOf } from '../event.ts';

export const category = 'publication';

export const STREAM_ID = 'messages';

export const platform = true;

/** The messages of all events up to and including `through` (a consistency token) are published to the broker. */
export type PublicationEvent = { type: 'MessagesPublished'; data: { through: string } };

export type Publication = { through: Position | null };

export const initial: Publication = { through: null };

export const evolve = (_: Publication, { data }: Recorded<PublicationEvent>): Publication => ({ through: parseToken(data.through) });

/** Does nothing if this position or a later one is already recorded. */
export const recordPublished =
  (published: Position) =>
  ({ through }: Publication): PublicationEvent[] =>
    through && comparePositions(published, through) <= 0 ? [] : [{ type: 'MessagesPublished', data: { through: tokenOf(published) } }];
