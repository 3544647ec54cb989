import { futureUntil, whyWords } from '../../../api/deliveries/held-words.ts';
import type { Reply } from '../../client/create-client.ts';

type Held = NonNullable<Reply<'listTenantDeliveries'>[number]['held']>;

/** Says why a delivery is held, by which rule, and until when, unless that time is over. */
export const heldLine = (held: Held): string => {
  const until = futureUntil(held.until);
  return `${whyWords(held)}${until === null ? '' : `, until ${until}`}`;
};
