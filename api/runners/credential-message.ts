import { CREDENTIAL_MESSAGE_TYPE, SPEC_VERSION } from '../../domain/runners/cloud-event.ts';
import { COMMON_ATTRIBUTES, commonAttributes, commonHeaders, id } from './message-schemas.ts';

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position'],
  properties: commonHeaders,
};

const payload = {
  type: 'object',
  required: [...COMMON_ATTRIBUTES, 'datacontenttype', 'tenant', 'agent', 'contenttrust', 'data'],
  properties: {
    ...commonAttributes(CREDENTIAL_MESSAGE_TYPE, 'The credential requests of the agent', 'The credential request'),
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
