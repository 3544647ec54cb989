import { icon } from './parts/icon.ts';
import { type Child, element, tags } from './parts/tags.ts';
import type { Visit } from './visit.ts';
import { withoutZone } from './zone.ts';

const { button, form, input, span } = tags;

/**
 * Renders the offer to show times in the zone of the browser, which only its module `zone-offer.mjs` knows: until then, it is
 * hidden. Both answers save a zone, so that no page offers one again. Null if the offer was made.
 */
export const zoneOffer = ({ zoneOffer: offer, me, url }: Pick<Visit, 'zoneOffer' | 'me' | 'url'>): Child => {
  if (offer === null || me === null) return null;
  const hidden = { class: 'note', role: 'status', hidden: true };
  // Updates keep what an element of this name contains.
  if (offer === 'shown') return element('zone-offer', hidden);
  return element(
    'zone-offer',
    hidden,
    icon('clock'),
    span(null, 'Times are shown in UTC.'),
    form(
      { method: 'post', action: '/console/preferences', class: 'row', 'aria-label': 'Time zone' },
      input({ type: 'hidden', name: 'return_to', value: withoutZone(url) }),
      button({ class: 'small', name: 'zone', value: '', 'data-own': '' }, 'Show times in your zone'),
      button({ class: 'ghost small', name: 'zone', value: 'UTC' }, 'Keep UTC'),
    ),
  );
};
