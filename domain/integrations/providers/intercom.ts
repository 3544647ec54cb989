import { MINUTE } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { signs, textKey } from '../conventions/signature-forms.ts';
import { field, idField } from '../conventions/value-source.ts';

export const intercom = {
  label: 'Intercom',
  // https://developers.intercom.com/docs/webhooks/webhook-notifications
  scheme: {
    headers: ['x-hub-signature'],
    shape: /^sha1=([0-9a-f]{40})$/,
    prefix: 'sha1=',
    encoding: 'hex',
    algorithm: 'sha1',
    key: textKey,
    ...signs('{body}'),
  },
  delivery: idField('/id'),
  event: field('/topic'),
  secret: { issuedAs: 'client secret' },
  setup: [
    'Open the app in the developer hub, then Webhooks.',
    'Paste the address as endpoint URL, and choose the topics.',
    'The secret is the client secret of Basic information.',
  ],
  // https://developers.intercom.com/docs/webhooks/webhook-notifications: the body has the number of the attempt.
  retries: { signs: 'new', delaysSeconds: [MINUTE], byHandSeconds: 0 },
  preview: [
    ['message', '/data/item/message'],
    ['item', '/data/item/type'],
    ['id', '/data/item/id'],
  ],
  samples: [
    {
      id: 'notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b3',
      event: 'conversation.user.created',
      body: '{"type":"notification_event","app_id":"hrh7nnuj","data":{"type":"notification_event_data","item":{"type":"conversation","id":"1122334455"}},"topic":"conversation.user.created","id":"notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b3","delivery_attempts":1,"first_sent_at":1742218370,"created_at":1742218370,"self":null}',
    },
    {
      id: 'notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b4',
      event: 'contact.created',
      body: '{"type":"notification_event","app_id":"hrh7nnuj","data":{"type":"notification_event_data","item":{"type":"contact","id":"6762f0dd1bb69f9f2193bb83","role":"user"}},"topic":"contact.created","id":"notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b4","delivery_attempts":1,"first_sent_at":1742218370,"created_at":1742218370,"self":null}',
    },
    {
      id: 'notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b5',
      event: 'ping',
      body: '{"type":"notification_event","app_id":"hrh7nnuj","data":{"type":"notification_event_data","item":{"type":"ping","message":"something something interzen"}},"topic":"ping","id":"notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b5","delivery_attempts":1,"first_sent_at":1742218370,"created_at":1742218370,"self":null}',
    },
  ],
} satisfies ProviderDefinition;
