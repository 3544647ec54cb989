import type { z } from 'zod';
import type { EventDetail as EventDetailSchema } from '../../audit/event-detail.ts';
import { wordsOf } from './history.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';
import { ago } from './time.ts';

const { ul, li, a, span, p } = tags;

export type EventDetail = z.output<typeof EventDetailSchema>;
type LinkedEvent = EventDetail['causes'][number];
type Resource = EventDetail['resources'][number];

/** Renders links to events, such as the causes of another event. */
export const eventLinks = (events: readonly LinkedEvent[], at: (rest: string) => string, none: string): Child =>
  events.length === 0
    ? p({ class: 'quiet' }, none)
    : ul(
        { class: 'links' },
        ...events.map(({ id, type, at: time, position }) =>
          li(
            { 'data-kind': 'event', 'data-id': id, 'data-position': position },
            a({ href: at(`/events/${id}`) }, wordsOf(type)),
            span({ class: 'quiet' }, ago(time)),
          ),
        ),
      );

/** Renders links to the resources that an event names. `pathOf` returns the path of the page about a resource. */
export const resourceLinks = (resources: EventDetail['resources'], pathOf: (resource: Resource) => string): Child =>
  resources.length === 0
    ? p({ class: 'quiet' }, 'It names none.')
    : ul(
        { class: 'links' },
        ...resources.map(({ type, id }) => li(null, a({ href: pathOf({ type, id }) }, type.replaceAll('_', ' ')), shortId(id))),
      );
