import { CREDENTIAL_MESSAGE_TYPE, SPEC_VERSION } from '../../domain/runners/cloud-event.ts';

const id = (description: string) => ({ type: 'string', pattern: '^c[a-z0-9]{24}$', description });

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position'],
  properties: {
    'Nats-Msg-Id': { type: 'string', format: 'uuid', description: "The event's id" },
    'Annals-Position': { type: 'string', pattern: '^\\d+:\\d+$', description: "The event's position in the event log" },
  },
};

const payload = {
  type: 'object',
  required: ['specversion', 'id', 'source', 'type', 'subject', 'time', 'datacontenttype', 'tenant', 'agent', 'contenttrust', 'data'],
  properties: {
    specversion: { const: SPEC_VERSION },
    id: { type: 'string', format: 'uuid', description: "The event's id; a runner that stores these ids processes no event twice" },
    source: { type: 'string', format: 'uri', description: 'The credential requests of the agent' },
    type: { const: CREDENTIAL_MESSAGE_TYPE },
    subject: id('The credential request'),
    time: { type: 'string', format: 'date-time' },
    datacontenttype: { const: 'application/json' },
    tenant: id('The tenant'),
    agent: id('The agent'),
    contenttrust: { const: 'trusted', description: 'The platform itself wrote the data' },
    data: {
      type: 'object',
      description: 'Nothing of the value: read the runtime again to get it',
      required: ['status'],
      properties: { status: { const: 'fulfilled' } },
      additionalProperties: false,
    },
  },
};

const example = (publicUrl: string) => {
  const [tenant, agent, request] = ['tenant', 'agent', 'request'].map((name) => `c${name.padEnd(24, '0')}`);
  const eventId = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
  return {
    headers: { 'Nats-Msg-Id': eventId, 'Annals-Position': '4711:4711' },
    payload: {
      specversion: SPEC_VERSION,
      id: eventId,
      source: `${publicUrl}/tenant/${tenant}/agents/${agent}/credential-requests`,
      type: CREDENTIAL_MESSAGE_TYPE,
      subject: request,
      time: '2026-01-01T12:00:00.000Z',
      datacontenttype: 'application/json',
      tenant,
      agent,
      contenttrust: 'trusted',
      data: { status: 'fulfilled' },
    },
  };
};

/** Returns the part of the AsyncAPI document about the message that a credential request was fulfilled. */
export const credentialMessage = (publicUrl: string) => ({ headers, payload, examples: [example(publicUrl)] });
