import { repeat } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { textKey } from '../conventions/signature-forms.ts';
import { field } from '../conventions/value-source.ts';
import { otherTwilioMessages, twilioMessage } from './twilio-message.ts';

export const twilio = {
  label: 'Twilio',
  // https://www.twilio.com/docs/usage/webhooks/webhooks-security
  scheme: {
    headers: ['x-twilio-signature'],
    shape: /^([A-Za-z0-9+/]{27}=)$/,
    encoding: 'base64',
    algorithm: 'sha1',
    key: textKey,
    template: '{url}',
    message: twilioMessage,
    alternatives: otherTwilioMessages,
  },
  delivery: { headers: ['i-twilio-idempotency-token'], pointers: [], orDigest: true },
  event: field('/EventType', '/MessageStatus', '/CallStatus'),
  forms: 'fields',
  secret: { issuedAs: 'auth token', mistaken: [[/^[A-Z]{2}[0-9a-f]{32}$/, 'a SID']] },
  setup: [
    'Open the number or service, then its webhooks.',
    'Paste the address as URL, with HTTP POST.',
    'The secret is the auth token of the account.',
  ],
  // https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides: as many as the
  // address asks for, at most five, all within 15 seconds.
  retries: { signs: 'same', delaysSeconds: repeat(5, 3), byHandSeconds: 0 },
  preview: [
    ['body', '/Body'],
    ['from', '/From'],
    ['id', '/MessageSid', '/CallSid'],
  ],
  // https://www.twilio.com/docs/api/errors/15003: TwiML with its content type, or 204 without a body. Products whose
  // requests are JSON, or have a type of event, do not read TwiML.
  answer: ({ media, fields }) =>
    media === 'form' && fields['/EventType'] === undefined ? { status: 200, body: 'twiml' } : { status: 204, body: 'empty' },
  urlDigest: 'bodySHA256',
  samples: [
    {
      id: 'b2e0-1',
      event: null,
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', 'i-twilio-idempotency-token': 'b2e0-1' },
      body: 'MessageSid=SM1234567890ABCDE&From=%2B14155552671&To=%2B18005551212&Body=Ahoy%21+Gr%C3%B6%C3%9Fe+%26+mehr&NumMedia=0',
    },
    {
      id: 'b2e0-2',
      event: 'delivered',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', 'i-twilio-idempotency-token': 'b2e0-2' },
      body: 'MessageSid=SM1234567890ABCDE&MessageStatus=delivered&ErrorCode=',
    },
    {
      id: 'b2e0-3',
      event: 'ringing',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', 'i-twilio-idempotency-token': 'b2e0-3' },
      body: 'CallSid=CA1234567890ABCDE&CallStatus=ringing&From=%2B14158675309&Direction=inbound',
    },
  ],
} satisfies ProviderDefinition;
