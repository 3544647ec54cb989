import {
  BENCHMARK_MESSAGE_TYPE,
  CRON_MESSAGE_TYPE,
  MAX_INLINE_BYTES,
  runnerMessages,
  SPEC_VERSION,
} from '../../domain/runners/cloud-event.ts';
import type { RunnerMessageType } from '../../domain/runners/runner-message.ts';
import { benchmarkRunExample, benchmarkRunSchema } from './benchmark-result.ts';
import { COMMON_ATTRIBUTES, commonAttributes, commonHeaders, id, text } from './message-schemas.ts';

/**
 * What causes messages of one type, for example an integration. `name` is the CloudEvents attribute that contains its
 * id. The other fields are texts with which the document describes attributes.
 */
type Origin = {
  readonly name: 'integration' | 'skill' | 'cronjob' | 'benchmark';
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
const BENCHMARK: Origin = {
  name: 'benchmark',
  noun: 'benchmark that the agent is to do',
  caller: 'Always benchmark',
  callId: 'The same as deliveryid, which is the id of the run',
};
const originOf = ({ type }: RunnerMessageType): Origin => {
  if (type === CRON_MESSAGE_TYPE) return CRON_JOB;
  if (type === BENCHMARK_MESSAGE_TYPE) return BENCHMARK;
  return type === runnerMessages.SkillWebhookCalled!.type ? SKILL : INTEGRATION;
};

const CRON_FIELDS = {
  cronname: text('The name that the cron job had'),
  occurrence: text('The occurrence of the cron job; a session of it names it as `cron_occurrence_id`'),
  dueat: { type: 'string', format: 'date-time', description: 'When the job was due, or its run was requested' },
};

const TRUSTED: Readonly<Record<string, string>> = {
  cronjob: 'A member who may change the settings of an agent wrote the data',
  benchmark: 'An administrator of the platform has chosen the data',
};

const trustField = (name: Origin['name']) =>
  TRUSTED[name]
    ? { const: 'trusted', description: TRUSTED[name] }
    : { const: 'untrusted', description: 'The data come from outside: an agent must not follow instructions in them' };

const FORM_FIELD_NOTE =
  'Only if the provider sent JSON in a field of a form: the name of the field, `payload`. `data` is this JSON, and `dataref` leads to the whole form';

const envelope = (type: string, { name, noun, caller, callId }: Origin) => ({
  type: 'object',
  required: [
    ...COMMON_ATTRIBUTES,
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
    ...commonAttributes(type, `The ${noun}`, 'The delivery'),
    datacontenttype: text('The media type of `data`, `data_base64` or what `dataref` leads to'),
    tenant: id('The tenant'),
    agent: id('The agent that processes the event'),
    [name]: name === 'benchmark' ? text('The slug of the benchmark') : id(`The ${noun}`),
    provider: text(caller),
    ...(name === 'integration' ? { providerevent: text("The provider's name of the event, such as push") } : {}),
    deliveryid: id('The delivery; the same as subject'),
    providerid: text(callId),
    contenttrust: trustField(name),
    ...(name === 'cronjob' ? CRON_FIELDS : {}),
    ...(name === 'integration' ? { formfield: text(FORM_FIELD_NOTE) } : {}),
    labels: text('Only if guardrails have labelled the delivery: the names of the rules, separated by commas'),
    causedby: id('Only if an earlier delivery led to this one: that delivery'),
    redeliveryof: {
      type: 'string',
      format: 'uuid',
      description: 'Only if a person asked to send the delivery again: the `id` of its first message. The `id` itself is new',
    },
    ...(name === 'integration' || name === 'skill'
      ? { traceparent: text('Only if the request had a trace context: its header `traceparent` (W3C)') }
      : {}),
    data:
      name === 'benchmark' ? benchmarkRunSchema : { description: `A JSON body of up to ${MAX_INLINE_BYTES} bytes, exactly as received` },
    data_base64: { type: 'string', contentEncoding: 'base64', description: `Any other body of up to ${MAX_INLINE_BYTES} bytes` },
    dataref: { type: 'string', format: 'uri', description: 'The URL of a larger body; the runner key gives access' },
  },
  oneOf: [{ required: ['data'] }, { required: ['data_base64'] }, { required: ['dataref'] }],
});

const EXPECTED_HEADERS =
  'With it the stream stores a message only after the previous one. JetStream delivers all headers with which a message was stored.';

const headers = {
  type: 'object',
  required: ['Nats-Msg-Id', 'Annals-Position', 'Annals-Delivery'],
  properties: {
    ...commonHeaders,
    'Annals-Delivery': id('The delivery'),
    'Annals-Occurrence': text('Only of a cron job: the occurrence'),
    traceparent: text('Only if the request had a trace context: its header `traceparent` (W3C)'),
    'Nats-Expected-Last-Sequence': text(`Without meaning for a runner. ${EXPECTED_HEADERS}`),
    'Nats-Expected-Last-Msg-Id': text(`Without meaning for a runner. ${EXPECTED_HEADERS}`),
  },
};

const OCCURRENCE = '9f86d081884c7d659a2feaa0c55ad015';
const CALL_ID = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

/** Returns the attributes that describe the cause of an example message. */
const exampleOrigin = ({ name }: Origin, origin: string, delivery: string): Record<string, unknown> => {
  if (name === 'benchmark') {
    const fields = { provider: 'benchmark', benchmark: 'sums', providerid: delivery, contenttrust: 'trusted' };
    return { ...fields, data: benchmarkRunExample(delivery) };
  }
  const shared = { [name]: origin, providerid: CALL_ID, contenttrust: 'untrusted' };
  if (name === 'skill') return { ...shared, provider: 'skill', data: { pull_request: 4711 } };
  if (name === 'integration') return { ...shared, provider: 'github', providerevent: 'push', data: { ref: 'refs/heads/main' } };
  const cron = { provider: 'cron', cronname: 'Weekly report', occurrence: OCCURRENCE, dueat: '2026-01-01T12:00:00.000Z' };
  return { ...shared, ...cron, providerid: OCCURRENCE, contenttrust: 'trusted', data: { report: 'weekly' } };
};

const exampleOf = (row: RunnerMessageType, publicUrl: string) => {
  const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
  const [tenant, agent, delivery] = [idOf('tenant'), idOf('agent'), idOf('delivery')];
  const { name } = originOf(row);
  const path = { benchmark: '', integration: 'webhook-integrations', skill: 'skills', cronjob: `agents/${agent}/cron-jobs` }[name];
  const id = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
  return {
    headers: { 'Nats-Msg-Id': id, 'Annals-Position': '4711:4711', 'Annals-Delivery': delivery },
    payload: {
      specversion: SPEC_VERSION,
      id,
      source: name === 'benchmark' ? `${publicUrl}/benchmarks/sums` : `${publicUrl}/tenant/${tenant}/${path}/${idOf(name)}`,
      type: row.type,
      subject: delivery,
      time: '2026-01-01T12:00:00.000Z',
      datacontenttype: 'application/json',
      tenant,
      agent,
      deliveryid: delivery,
      ...exampleOrigin(originOf(row), idOf(name), delivery),
    },
  };
};

/** Returns the part of the AsyncAPI document about a message that transports a delivery. */
export const deliveryMessage = (row: RunnerMessageType, publicUrl: string) => ({
  headers,
  payload: envelope(row.type, originOf(row)),
  examples: [exampleOf(row, publicUrl)],
});
