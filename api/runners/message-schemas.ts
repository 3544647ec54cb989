import { SPEC_VERSION } from '../../domain/runners/cloud-event.ts';

export const id = (description: string) => ({ type: 'string', pattern: '^c[a-z0-9]{24}$', description });
export const uuid = (description: string) => ({ type: 'string', format: 'uuid', description });
export const text = (description: string) => ({ type: 'string', description });

/** The headers that every message has. */
export const commonHeaders = {
  'Nats-Msg-Id': uuid("The event's id"),
  'Annals-Position': { type: 'string', pattern: '^\\d+:\\d+$', description: "The event's position in the event log" },
};

/** The CloudEvents attributes that every message has, besides those that only concern Annals. */
export const COMMON_ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'subject', 'time'] as const;

/** `source` and `subject` are the descriptions of these attributes. */
export const commonAttributes = (type: string, source: string, subject: string) => ({
  specversion: { const: SPEC_VERSION },
  id: uuid("The event's id; a runner that stores these ids processes no event twice"),
  source: { type: 'string', format: 'uri', description: source },
  type: { const: type },
  subject: id(subject),
  time: { type: 'string', format: 'date-time' },
});
