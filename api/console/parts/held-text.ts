import type { Rows } from '../../areas.ts';
import { futureUntil, whyWords } from '../../deliveries/held-words.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from './tags.ts';
import { zoned } from './time.ts';

const { span } = tags;

type Held = Pick<NonNullable<ReplyOf<Rows['getDelivery']>['held']>, 'reason' | 'rule' | 'note' | 'until'>;

/** Says why something waits, by which rule, and until when. A time that is over is left out: something else holds it now. */
export const heldText = (held: Held): Child => {
  const until = futureUntil(held.until);
  return span(null, whyWords(held), until === null ? null : [', until ', zoned(until, 'minute')]);
};
