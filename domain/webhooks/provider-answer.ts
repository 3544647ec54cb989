import type { InspectedBody, Media } from './body-inspection.ts';
import type { Provider } from './provider.ts';

/**
 * What a provider gets when its delivery is recorded. `outcome`: the id and the outcome as JSON. `twiml`: a document in
 * which no instruction stands. `empty`: no body.
 */
export type ProviderAnswer = { readonly status: 200 | 202 | 204; readonly body: 'outcome' | 'twiml' | 'empty' };

type Received = { readonly media: Media; readonly fields: InspectedBody['fields'] };

const OK: ProviderAnswer = { status: 200, body: 'outcome' };
const EMPTY: ProviderAnswer = { status: 200, body: 'empty' };
const NO_CONTENT: ProviderAnswer = { status: 204, body: 'empty' };

/**
 * Maps providers that read more in an answer than a status of 2xx to the answers that they get, whether the delivery is
 * accepted, blocked or a duplicate. Null is the usual answer.
 */
const ANSWERS: Partial<Record<Provider, (received: Received) => ProviderAnswer | null>> = {
  // https://linear.app/developers/webhooks: any other status counts as a failure, and Linear disables the webhook.
  linear: () => OK,
  // https://developers.zoom.us/docs/api/webhooks/: 200 or 204.
  zoom: () => OK,
  // https://docs.slack.dev/interactivity/implementing-slash-commands#responding_immediate_response: the body of the
  // answer to a command is shown to people, and that to a dialog must be empty. Events are JSON, and need a 2xx only.
  slack: ({ media }) => (media === 'form' ? EMPTY : null),
  // https://www.twilio.com/docs/api/errors/15003: TwiML with its content type, or 204 without a body. Products whose
  // requests are JSON, or have a type of event, do not read TwiML.
  twilio: ({ media, fields }) => (media === 'form' && fields['/EventType'] === undefined ? { status: 200, body: 'twiml' } : NO_CONTENT),
  // https://discord.com/developers/docs/interactions/receiving-and-responding: 202 without a body leaves the answer to an
  // interaction to a later call. https://discord.com/developers/docs/events/webhook-events: an event gets 204.
  discord: ({ fields }) => (fields['/event/type'] === undefined ? { status: 202, body: 'empty' } : NO_CONTENT),
};

/** Returns what the provider gets for a recorded delivery; null for the usual answer. */
export const providerAnswer = (provider: Provider, received: Received): ProviderAnswer | null => ANSWERS[provider]?.(received) ?? null;
