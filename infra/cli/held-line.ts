import { whyWords } from '../../api/webhooks/held-words.ts';
import type { Reply } from '../client/create-client.ts';

type Held = NonNullable<Reply<'listTenantDeliveries'>[number]['held']>;

/** Says why a delivery is held, by which rule, and until when. */
export const heldLine = (held: Held): string => `${whyWords(held)}${held.until === null ? '' : `, until ${held.until}`}`;
