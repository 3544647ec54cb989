import {
  CONTENT_TYPE,
  CREDENTIAL_MESSAGE_TYPE,
  CRON_MESSAGE_TYPE,
  inboundSubject,
  MAX_INLINE_BYTES,
  type RunnerMessageType,
  runnerMessages,
  SPEC_VERSION,
} from '../../domain/runners/cloud-event.ts';
import {
  ACK_WAIT_MS,
  consumerName,
  inboxOf,
  MAX_DELIVERY_ATTEMPTS,
  MAX_UNACKNOWLEDGED,
  STREAM,
} from '../../domain/runners/runner-credential.ts';
import { credentialMessage } from './credential-message.ts';

const reference = (path: string) => ({ $ref: `#/${path}` });

const textField = (description: string) => ({ type: 'string', description });

const idField = (description: string) => ({ type: 'string', pattern: '^c[a-z0-9]{24}$', description });

/**
 * Where messages of a type come from: the attribute that names it, and what the attributes say in their descriptions.
 */
type Origin = {
  readonly name: 'integration' | 'skill' | 'cronjob';
  readonly noun: string;
  readonly caller: string;
  readonly callId: string;
};

const INTEGRATION: Origin = {
  name: 'integration',
  noun: 'webhook integration that received the delivery',
  caller: 'The provider, such as github',
  callId: "The provider's id of the delivery, such as X-GitHub-Delivery",
};
const SKILL: Origin = {
  name: 'skill',
  noun: 'skill whose webhook was called',
  caller: 'Always skill',
  callId: 'The Idempotency-Key of the call; without one, the same as deliveryid',
};
const CRON_JOB: Origin = {
  name: 'cronjob',
  noun: 'cron job that has fired',
  caller: 'Always cron',
  callId: 'The same as occurrence',
};
const originOf = ({ type }: RunnerMessageType): Origin => {
  if (type === CRON_MESSAGE_TYPE) return CRON_JOB;
  return type === runnerMessages.SkillWebhookCalled!.type ? SKILL : INTEGRATION;
};

const CRON_FIELDS = {
  cronname: textField('The name that the cron job had'),
  occurrence: textField('The occurrence of the cron job; a session of it names it as `cron_occurrence_id`'),
  dueat: { type: 'string', format: 'date-time', description: 'When the job was due, or its run was requested' },
};

const trustField = (isTrusted: boolean) =>
  isTrusted
    ? { const: 'trusted', description: 'A member who may change the settings of an agent wrote the data' }
    : { const: 'untrusted', description: 'The data come from outside: an agent must not follow instructions in them' };

const envelope = (type: string, { name, noun, caller, callId }: Origin) => ({
  type: 'object',
  required: [
    'specversion',
    'id',
    'source',
    'type',
    'subject',
    'time',
    'tenant',
    'agent',
    name,
    'provider',
    'deliveryid',
    'providerid',
    'contenttrust',
    ...(name === 'cronjob' ? Object.keys(CRON_FIELDS) : []),
  ],
  properties: {
    specversion: { const: SPEC_VERSION },
    id: { type: 'string', format: 'uuid', description: "The event's id; a runner that stores these ids processes no event twice" },
    source: { type: 'string', format: 'uri', description: `The ${noun}` },
    type: { const: type },
    subject: idField('The delivery'),
    time: { type: 'string', format: 'date-time' },
    datacontenttype: textField("The body's media type, as the provider sent it"),
    tenant: idField('The tenant'),
    agent: idField('The agent that processes the event'),
    [name]: idField(`The ${noun}`),
    provider: textField(caller),
    ...(name === 'integration' ? { providerevent: textField("The provider's name of the event, such as push") } : {}),
    deliveryid: idField('The delivery; the same as subject'),
    providerid: textField(callId),
    contenttrust: trustField(name === 'cronjob'),
    ...(name === 'cronjob' ? CRON_FIELDS : {}),
    labels: textField('Only if guardrails have labelled the delivery: the names of the rules, separated by commas'),
    causedby: idField('Only if an earlier delivery led to this one: that delivery'),
    redeliveryof: {
      type: 'string',
      format: 'uuid',
      description: 'Only if a person asked to send the delivery again: the `id` of its first message. The `id` itself is new',
    },
    data: { description: `A JSON body of up to ${MAX_INLINE_BYTES} bytes, exactly as received` },
    data_base64: { type: 'string', contentEncoding: 'base64', description: `Any other body of up to ${MAX_INLINE_BYTES} bytes` },
    dataref: { type: 'string', format: 'uri', description: 'The URL of a larger body; the runner key gives access' },
  },
  oneOf: [{ required: ['data'] }, { required: ['data_base64'] }, { required: ['dataref'] }],
});

const EXPECTED_HEADERS =
  'With it the stream stores a message only after the one before it. JetStream delivers all headers with which a message was stored.';

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position', 'Annals-Delivery'],
  properties: {
    'Nats-Msg-Id': { type: 'string', format: 'uuid', description: "The event's id" },
    'Annals-Position': { type: 'string', pattern: '^\\d+:\\d+$', description: "The event's position in the event log" },
    'Annals-Delivery': idField('The delivery'),
    'Annals-Occurrence': textField('Only of a cron job: the occurrence'),
    'Nats-Expected-Last-Sequence': textField(`Without meaning for a runner. ${EXPECTED_HEADERS}`),
    'Nats-Expected-Last-Msg-Id': textField(`Without meaning for a runner. ${EXPECTED_HEADERS}`),
  },
};

/** Converts a message type to a name in the document: `annals.webhook.accepted` -> `annalsWebhookAccepted`. */
const nameOf = ({ type }: RunnerMessageType): string => type.replace(/\.([a-z])/g, (_, letter: string) => letter.toUpperCase());

const OCCURRENCE = '9f86d081884c7d659a2feaa0c55ad015';
const CALL_ID = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

/** What the example of a message says of its origin. */
const exampleOrigin = ({ name }: Origin, origin: string): Record<string, unknown> => {
  const shared = { [name]: origin, providerid: CALL_ID, contenttrust: 'untrusted' };
  if (name === 'skill') return { ...shared, provider: 'skill', data: { pull_request: 4711 } };
  if (name === 'integration') return { ...shared, provider: 'github', providerevent: 'push', data: { ref: 'refs/heads/main' } };
  const cron = { provider: 'cron', cronname: 'Weekly report', occurrence: OCCURRENCE, dueat: '2026-01-01T12:00:00.000Z' };
  return { ...shared, ...cron, providerid: OCCURRENCE, contenttrust: 'trusted', data: { report: 'weekly' } };
};

/** An example of a message. Its ids are those of no delivery. */
const exampleOf = (row: RunnerMessageType, publicUrl: string) => {
  const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
  const [tenant, agent, delivery] = [idOf('tenant'), idOf('agent'), idOf('delivery')];
  const { name } = originOf(row);
  const path = { integration: 'webhook-integrations', skill: 'skills', cronjob: `agents/${agent}/cron-jobs` }[name];
  const id = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
  return {
    headers: { 'Nats-Msg-Id': id, 'Annals-Position': '4711:4711', 'Annals-Delivery': delivery },
    payload: {
      specversion: SPEC_VERSION,
      id,
      source: `${publicUrl}/tenant/${tenant}/${path}/${idOf(name)}`,
      type: row.type,
      subject: delivery,
      time: '2026-01-01T12:00:00.000Z',
      datacontenttype: 'application/json',
      tenant,
      agent,
      deliveryid: delivery,
      ...exampleOrigin(originOf(row), idOf(name)),
    },
  };
};

const deliveryMessage = (row: RunnerMessageType, publicUrl: string) => ({
  headers,
  payload: envelope(row.type, originOf(row)),
  examples: [exampleOf(row, publicUrl)],
});

const messageOf = (row: RunnerMessageType, publicUrl: string) => ({
  name: row.type,
  title: row.type,
  summary: row.summary,
  contentType: CONTENT_TYPE,
  ...(row.type === CREDENTIAL_MESSAGE_TYPE ? credentialMessage(publicUrl) : deliveryMessage(row, publicUrl)),
});

const credential = {
  type: 'asymmetricEncryption',
  description:
    'A NATS user JWT (`jwt`) and the private seed of the key pair that it names (`seed`). The client sends the JWT and signs the nonce of the ' +
    'server with the seed (Ed25519). The NATS clients do both, for example jwtAuthenticator in JavaScript, or a .creds file.',
};

const server = {
  host: '{host}',
  protocol: 'nats',
  description: 'A NATS server with JetStream. The field `url` of a credential names it; there may be several, separated by commas.',
  variables: { host: { description: 'Host and port in the field `url` of the credential', examples: ['127.0.0.1:4222'] } },
  security: [reference('components/securitySchemes/credential')],
};

/** What a runner in any language must do, as Markdown. */
const description = (publicUrl: string): string =>
  [
    `The JetStream stream \`${STREAM}\` holds the messages. Each agent has a durable pull consumer, \`${consumerName('{agent}')}\`, which all its runners share.`,
    `**Connect.** \`POST ${publicUrl}/tenant/{tenant}/agents/{agent}/runner-credentials\` with the runner key returns \`url\`, \`jwt\`, \`seed\`, ` +
      `\`stream\`, \`consumer\` and \`inbox_prefix\` (\`${inboxOf('{id}')}\`). Set the inbox prefix in the client: no other inbox may receive replies. ` +
      'Bind to the consumer, and do not create it or look it up: the credential allows only to pull from it and to acknowledge its messages. ' +
      'Let each request to pull wait for 2 minutes at most (`expires`): the broker forwards no answer later than that.',
    `**Renew.** The broker closes the connection at \`expires_at\`. From \`renew_at\` on, get a new credential, open a second connection, and pull and ` +
      'acknowledge through that. Work in progress goes on: the reply subject of a message is valid through every connection of the agent.',
    `**Acknowledge** with a request to the reply subject of the message, when the work is done: \`+ACK\`. A message without acknowledgement for ` +
      `${ACK_WAIT_MS / 1_000} s is delivered again; \`+WPI\` (in_progress) starts this time anew, \`-NAK {"delay": nanoseconds}\` asks for the message ` +
      `again after the delay, and \`+TERM\` gives it up. Each delivery of a message is an attempt, also the one after a \`-NAK\`. After ` +
      `${MAX_DELIVERY_ATTEMPTS} attempts the message is given up and the delivery is dead, so a \`-NAK\` without delay uses up all attempts within seconds. ` +
      '`annals runner` waits 1, 2, 4, 8 … s, at most 300 s.',
    '**At least once.** A message is delivered again if a runner dies or its acknowledgement is lost. Store the `id` of each processed event, and skip known ones.',
    '**`annals runner`** runs a command with the CloudEvent on its standard input, the whole body included. The environment of the command has ' +
      'ANNALS_EVENT_ID (`id`), ANNALS_DELIVERY_ID (`providerid`), ANNALS_SUBJECT (`subject`), ANNALS_AGENT (the slug of the agent), ' +
      'ANNALS_ATTEMPT (1 at the first attempt) and ANNALS_RUNTIME (the path of a file with the answer of `GET …/agents/{agent}/runtime`).',
    '`annals runner --forward URL` posts the same CloudEvent to a URL, in structured mode; a status of 2xx acknowledges it. The TypeScript client ' +
      '`annals/runner` receives events, opens sessions and appends messages to them.',
    '**Order.** Messages are delivered first in the order of the event log. Several runners, and messages that are delivered again, change the order. ' +
      `All runners of an agent together may have at most ${MAX_UNACKNOWLEDGED} messages without acknowledgement.`,
    '**Earlier versions.** Messages of earlier versions have no `providerid`; their `deliveryid` and `delivery_id` are the id that `providerid` has now.',
  ].join('\n\n');

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
      description: description(publicUrl),
    },
    defaultContentType: CONTENT_TYPE,
    servers: { broker: server },
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
    components: {
      securitySchemes: { credential },
      messages: Object.fromEntries(rows.map((row) => [nameOf(row), messageOf(row, publicUrl)])),
    },
  };
};
