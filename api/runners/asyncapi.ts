import { CONTENT_TYPE, CREDENTIAL_MESSAGE_TYPE, inboundSubject, runnerMessages } from '../../domain/runners/cloud-event.ts';
import {
  ACK_WAIT_MS,
  consumerName,
  inboxOf,
  MAX_DELIVERY_ATTEMPTS,
  MAX_UNACKNOWLEDGED,
  STREAM,
} from '../../domain/runners/runner-credential.ts';
import type { RunnerMessageType } from '../../domain/runners/runner-message.ts';
import { isSessionMessage } from '../../domain/runners/session-message.ts';
import { benchmarkResult } from './benchmark-result.ts';
import { credentialMessage } from './credential-message.ts';
import { deliveryMessage } from './delivery-message.ts';
import { sessionMessage } from './session-message.ts';

const reference = (path: string) => ({ $ref: `#/${path}` });

/**
 * Converts a message type to a name that AsyncAPI allows: `annals.webhook.accepted` becomes `annalsWebhookAccepted`.
 */
const nameOf = ({ type }: RunnerMessageType): string => type.replace(/\.([a-z])/g, (_, letter: string) => letter.toUpperCase());

const describe = (row: RunnerMessageType, publicUrl: string) => {
  if (isSessionMessage(row.type)) return sessionMessage(row, publicUrl);
  return row.type === CREDENTIAL_MESSAGE_TYPE ? credentialMessage(publicUrl) : deliveryMessage(row, publicUrl);
};

const messageOf = (row: RunnerMessageType, publicUrl: string) => ({
  name: row.type,
  title: row.type,
  summary: row.summary,
  contentType: CONTENT_TYPE,
  ...describe(row, publicUrl),
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

/** Returns the introduction of the document, in Markdown. It explains the rules for runners in any language. */
const description = (publicUrl: string): string =>
  [
    `The JetStream stream \`${STREAM}\` holds the messages. Each agent has a durable pull consumer, \`${consumerName('{agent}')}\`, which all its runners share.`,
    `**Connect.** \`POST ${publicUrl}/tenant/{tenant}/agents/{agent}/runner-credentials\` with the runner key returns \`url\`, \`jwt\`, \`seed\`, ` +
      `\`stream\`, \`consumer\` and \`inbox_prefix\` (\`${inboxOf('{id}')}\`). Set the inbox prefix in the client: no other inbox may receive replies. ` +
      'Bind to the consumer, and do not create it or look it up: the credential allows only to pull from it, to acknowledge its messages and to publish results. ' +
      'Let each request to pull wait for 2 minutes at most (`expires`): the broker forwards no answer later than that.',
    `**Renew.** The broker closes the connection at \`expires_at\`. From \`renew_at\` on, get a new credential, open a second connection, and pull and ` +
      'acknowledge through that. Work in progress continues: the reply subject of a message is valid through every connection of the agent.',
    `**Acknowledge** with a request to the reply subject of the message, when the work is done: \`+ACK\`. A message without acknowledgement for ` +
      `${ACK_WAIT_MS / 1_000} s is delivered again; \`+WPI\` (in_progress) restarts this time, \`-NAK {"delay": nanoseconds}\` asks for the message ` +
      `again after the delay, and \`+TERM\` gives it up. Each delivery of a message is an attempt, also the one after a \`-NAK\`. After ` +
      `${MAX_DELIVERY_ATTEMPTS} attempts the message is given up and the delivery is dead, so a \`-NAK\` without delay uses up all attempts within seconds. ` +
      '`annals runner` waits 1, 2, 4, 8 … s, at most 300 s.',
    '**At least once.** A message is delivered again if a runner dies or its acknowledgement is lost. Store the `id` of each processed event, and skip known ones.',
    '**`annals runner`** runs a command with the CloudEvent on its standard input, the whole body included. The environment of the command has ' +
      'ANNALS_EVENT_ID (`id`), ANNALS_DELIVERY_ID (`providerid`), ANNALS_SUBJECT (`subject`), ANNALS_AGENT (the slug of the agent), ' +
      'ANNALS_ATTEMPT (1 at the first attempt) and ANNALS_RUNTIME (the path of a file with the answer of `GET …/agents/{agent}/runtime`). ANNALS_SESSION_ID is set for an event of a session. TRACEPARENT is set if the delivery has a trace context.',
    '`annals runner --forward URL` posts the same CloudEvent to a URL, in structured mode; a status of 2xx acknowledges it. The TypeScript client ' +
      '`annals-client/runner` receives events, opens sessions and appends messages to them.',
    '**Order.** Messages are delivered first in the order of the event log. Several runners, and messages that are delivered again, change the order. ' +
      `All runners of an agent together may have at most ${MAX_UNACKNOWLEDGED} messages without acknowledgement.` +
      ' Process a message with `previous` when the message of this id is settled: `GET …/agents/{agent}/settled-messages` says so. Until then, keep it with `+WPI`. ' +
      'If it has already been delivered several times, a `-NAK` with a long delay keeps it in the broker even if the runner dies, and the runner can still acknowledge it.',
    benchmarkResult.text,
    '**Earlier versions.** Messages of earlier versions have no `providerid`; their `deliveryid` and `delivery_id` are the id that `providerid` has now.',
  ].join('\n\n');

/**
 * Creates the AsyncAPI 3.0 document of the messages to runners. It is generated from `runnerMessages`. The relay, which
 * publishes the messages, uses the same table.
 */
export const asyncapi = ({ publicUrl, version }: { publicUrl: string; version: string }) => {
  const rows = [...new Map(Object.values(runnerMessages).map((row) => [row.type, row])).values()];
  const names = rows.map(nameOf);
  const inbound: Readonly<Record<string, ReturnType<typeof messageOf>>> = Object.fromEntries(
    rows.map((row) => [nameOf(row), messageOf(row, publicUrl)]),
  );
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
      scores: benchmarkResult.channel,
    },
    operations: {
      receiveInbound: {
        action: 'receive',
        channel: reference('channels/inbound'),
        summary: 'Pull a message, process it, acknowledge it',
        messages: names.map((name) => reference(`channels/inbound/messages/${name}`)),
      },
      publishResult: benchmarkResult.operation,
    },
    components: {
      securitySchemes: { credential },
      messages: {
        ...inbound,
        annalsBenchmarkResult: benchmarkResult.message,
      },
    },
  };
};
