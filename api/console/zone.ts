import { heading } from './parts/heading.ts';
import { icon } from './parts/icon.ts';
import { moduleScript } from './parts/module-script.ts';
import { type Child, tags } from './parts/tags.ts';
import { absoluteTime } from './parts/time.ts';
import type { Visit } from './visit.ts';

const { a, button, div, form, input, label, option, p, select, span } = tags;

export const ZONE_PATH = '/console/zone';

/** Returns a URL of a page without its time zone, so that the page is shown in the zone that the visitor has saved. */
export const withoutZone = (url: string): string => {
  const [path = '', query = ''] = url.split('?');
  const kept = new URLSearchParams(query);
  kept.delete('zone');
  return kept.size > 0 ? `${path}?${kept}` : path;
};

/** Returns a URL of a page with a time zone. */
export const inZone = (url: string, zone: string): string => {
  const bare = withoutZone(url);
  return `${bare}${bare.includes('?') ? '&' : '?'}zone=${encodeURIComponent(zone)}`;
};

/** Renders the button that names the time zone of a page, and leads to the form that changes it. */
export const zoneButton = ({ zone, url, path }: Visit): Child =>
  form(
    { method: 'get', action: ZONE_PATH, class: 'zone-form', 'data-now': '' },
    input({ type: 'hidden', name: 'return_to', value: path === ZONE_PATH ? '/console' : withoutZone(url) }),
    button({ class: 'ghost', title: 'Change the time zone' }, icon('clock'), span(null, `Times in ${zone}`)),
  );

/** Renders the note on a page whose time zone does not exist. Null on other pages. */
export const unknownZoneNote = ({ unknownZone }: Pick<Visit, 'unknownZone'>): Child =>
  unknownZone === null
    ? null
    : div(
        { class: 'note', role: 'status', 'data-unknown-zone': unknownZone },
        icon('clock'),
        span(null, `There is no time zone ${JSON.stringify(unknownZone.slice(0, 64))}. Times are shown in UTC.`),
      );

/** Renders the page with the form that sets the time zone in which pages show times. */
export const zonePage = ({ zone }: Visit, returnTo: string): readonly Child[] => {
  const now = new Date().toISOString();
  const names = [...new Set(['UTC', zone, ...Intl.supportedValuesOf('timeZone')])];
  return [
    heading('Time zone', 'Pages show times, days and charts in this zone, and read typed times in it. It is saved in this browser.'),
    form(
      { method: 'post', action: '/console/preferences', class: 'card form', 'data-form': 'zone' },
      input({ type: 'hidden', name: 'return_to', value: returnTo }),
      div(
        { class: 'field' },
        label({ for: 'zone' }, 'Time zone'),
        select(
          { id: 'zone', name: 'zone', autofocus: true },
          ...names.map((name) => option({ value: name, selected: name === zone }, name)),
        ),
        p({ class: 'quiet' }, `Now: ${absoluteTime(now, zone)}`),
      ),
      div(
        { class: 'actions form-actions' },
        button({ class: 'primary' }, 'Use this zone'),
        button({ type: 'button', hidden: true, 'data-own-zone': '' }, ''),
        a({ class: 'button', href: returnTo }, 'Cancel'),
      ),
    ),
    moduleScript('own-zone.mjs'),
  ];
};
