import {
  CONTENT_TYPE,
  inboundSubject,
  MAX_INLINE_BYTES,
  type RunnerMessageType,
  runnerMessages,
  SPEC_VERSION,
} from '../../domain/runners/cloud-event.ts';
import { ACK_WAIT_MS, consumerName, inboxOf, MAX_DELIVERY_ATTEMPTS, STREAM } from '../../domain/runners/runner-credential.ts';

const textField = (description: string) => ({ type: 'string', description });

const idField = (description: string) => ({ type: 'string', pattern: '^c[a-z0-9]{24}$', description });

const envelope = (type: string) => ({
  type: 'object',
  required: ['specversion', 'id', 'source', 'type', 'subject', 'time', 'tenant', 'agent', 'integration', 'provider', 'deliveryid'],
  properties: {
    specversion: { const: SPEC_VERSION },
    id: { type: 'string', format: 'uuid', description: "The event's id; a runner that stores these ids processes no event twice" },
    source: { type: 'string', format: 'uri', description: 'The webhook integration that received the delivery' },
    type: { const: type },
    subject: idField('The delivery'),
    time: { type: 'string', format: 'date-time' },
    datacontenttype: textField("The body's media type, as the provider sent it"),
    tenant: idField('The tenant'),
    agent: idField('The agent that processes the event'),
    integration: idField('The webhook integration'),
    provider: textField('The provider, such as github'),
    providerevent: textField("The provider's name of the event, such as push"),
    deliveryid: textField("The provider's id of the delivery"),
    delivery_id: textField('The same as deliveryid'),
    data: { description: `A JSON body of up to ${MAX_INLINE_BYTES} bytes, exactly as received` },
    data_base64: { type: 'string', contentEncoding: 'base64', description: `Any other body of up to ${MAX_INLINE_BYTES} bytes` },
    dataref: { type: 'string', format: 'uri', description: 'The URL of a larger body; the runner key gives access' },
  },
  oneOf: [{ required: ['data'] }, { required: ['data_base64'] }, { required: ['dataref'] }],
});

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position', 'Annals-Delivery'],
  properties: {
    'Nats-Msg-Id': { type: 'string', format: 'uuid', description: "The event's id" },
    'Annals-Position': { type: 'string', pattern: '^\\d+:\\d+$', description: "The event's position in the event log" },
    'Annals-Delivery': idField('The delivery'),
  },
};

/** Converts a message type to a name in the document: `annals.webhook.accepted` -> `annalsWebhookAccepted`. */
const nameOf = ({ type }: RunnerMessageType): string => type.replace(/\.([a-z])/g, (_, letter: string) => letter.toUpperCase());

const messageOf = (row: RunnerMessageType) => ({
  name: row.type,
  title: row.type,
  summary: row.summary,
  contentType: CONTENT_TYPE,
  headers,
  payload: envelope(row.type),
});

const reference = (path: string) => ({ $ref: `#/${path}` });

/**
 * Creates the AsyncAPI 3.0 document of the messages to runners. It is generated from `runnerMessages`, from which the
 * relay takes the messages, too.
 */
export const asyncapi = ({ publicUrl, version }: { publicUrl: string; version: string }) => {
  const rows = Object.values(runnerMessages);
  const names = rows.map(nameOf);
  return {
    asyncapi: '3.0.0',
    id: `${publicUrl}/asyncapi.json`,
    info: {
      title: 'Annals runners',
      version,
      description:
        `The JetStream stream ${STREAM} holds the messages. A runner pulls them through its agent's durable consumer, ${consumerName('{agent}')}, ` +
        `with credentials from POST /tenant/{tenant}/agents/{agent}/runner-credentials, whose inbox prefix is ${inboxOf('{credential}')}. ` +
        `It acknowledges a message when its work is done. A message without acknowledgement for ${ACK_WAIT_MS / 1_000} seconds is delivered again, ` +
        `at most ${MAX_DELIVERY_ATTEMPTS} times.`,
    },
    defaultContentType: CONTENT_TYPE,
    channels: {
      inbound: {
        address: inboundSubject('{tenant}', '{agent}'),
        summary: 'The events that an agent processes, in the order of the event log',
        parameters: { tenant: { description: "The tenant's id" }, agent: { description: "The agent's id" } },
        messages: Object.fromEntries(names.map((name) => [name, reference(`components/messages/${name}`)])),
      },
    },
    operations: {
      receiveInbound: {
        action: 'receive',
        channel: reference('channels/inbound'),
        summary: 'Pull a message, process it, acknowledge it',
        messages: names.map((name) => reference(`channels/inbound/messages/${name}`)),
      },
    },
    components: { messages: Object.fromEntries(rows.map((row) => [nameOf(row), messageOf(row)])) },
  };
};
