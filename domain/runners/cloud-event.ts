import type { CredentialRequestEvent } from '../credentials/credential-request.ts';
import type { BenchmarkDeliveryFacts } from '../deliveries/benchmark-delivery.ts';
import type { CronDeliveryFacts } from '../deliveries/cron-delivery.ts';
import { type DeliveryFacts, factsOf } from '../deliveries/delivery.ts';
import type { MailFacts } from '../deliveries/mail-delivery.ts';
import type { Recorded } from '../event.ts';
import { labelsOf } from '../guardrails/guardrail.ts';
import { omit } from '../omit.ts';
import type { SkillCallFacts } from '../skill-calls/skill-call.ts';
import { bodyPart, validAttributes } from './message-body.ts';
import type { Message, RunnerMessageType } from './runner-message.ts';
import { sessionMessages } from './session-message.ts';

/** In bytes. Instead of a larger body, the message contains a URL from which the runner fetches it. */
export const MAX_INLINE_BYTES = 65_536;

export const CONTENT_TYPE = 'application/cloudevents+json';
export const SPEC_VERSION = '1.0';

const encoder = new TextEncoder();

export const inboundSubject = (tenant: string, agent: string): string => `agents.${tenant}.${agent}.inbound`;

/** Attributes that warn the agent of content from outside: what the guardrails found, and why they blocked or held the delivery. */
const guardrailAttributes = ({ guardrails = [], cause, released_from }: Partial<DeliveryFacts>): Record<string, string> => {
  const labels = [...new Set(labelsOf(guardrails))];
  return {
    contenttrust: 'untrusted',
    ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
    ...(cause === undefined ? {} : { causedby: cause.delivery_id }),
    ...(released_from === undefined ? {} : { releasedfrom: released_from }),
  };
};

const webhookAttributes = (event: Recorded, facts: DeliveryFacts, publicUrl: string): Record<string, string> => ({
  source: `${publicUrl}/tenant/${event.tenant}/webhook-integrations/${facts.integration_id}`,
  subject: event.id,
  tenant: event.tenant,
  agent: facts.agent_id,
  integration: facts.integration_id,
  provider: facts.provider,
  ...(facts.event === null ? {} : { providerevent: facts.event }),
  deliveryid: event.id,
  providerid: facts.provider_delivery_id,
  ...guardrailAttributes(facts),
  ...(facts.redelivery_of === undefined ? {} : { redeliveryof: facts.redelivery_of }),
  ...(facts.traceparent === undefined ? {} : { traceparent: facts.traceparent }),
});

/** Whether the body is known to be JSON, so that it need not be scanned again. Unknown if a guardrail has redacted the body after the check. */
const isVerifiedJson = ({ guardrails = [] }: Partial<DeliveryFacts>): boolean =>
  guardrails.some(({ rule, verdict }) => rule === 'json' && verdict === 'pass') && !guardrails.some(({ verdict }) => verdict === 'redact');

const webhookMessage = (event: Recorded, publicUrl: string): Message => {
  const facts = factsOf(event);
  const body = event.data as Uint8Array;
  return {
    agent: facts.agent_id,
    delivery: event.id,
    attributes: webhookAttributes(event, facts, publicUrl),
    contentType: facts.content_type,
    body,
    size: facts.parts === undefined ? body.length : facts.size_bytes,
    isJson: isVerifiedJson(facts),
    reference: `${publicUrl}/tenant/${event.tenant}/deliveries/${event.id}/body`,
  };
};

/** The body is JSON. The source is the skill, because there is no integration. */
const skillMessage = (event: Recorded, publicUrl: string): Message => {
  const { skill_id } = factsOf(event) as SkillCallFacts;
  const message = webhookMessage(event, publicUrl);
  const attributes = omit(message.attributes, 'integration');
  const source = `${publicUrl}/tenant/${event.tenant}/skills/${skill_id}`;
  return { ...message, attributes: { ...attributes, source, skill: skill_id } };
};

/** No integration; a member of the tenant wrote the body. */
const cronMessage = (event: Recorded, publicUrl: string): Message => {
  const { cron } = factsOf(event) as CronDeliveryFacts;
  const message = webhookMessage(event, publicUrl);
  const attributes = omit(message.attributes, 'integration');
  return {
    ...message,
    occurrence: cron.occurrence_id,
    attributes: {
      ...attributes,
      source: `${publicUrl}/tenant/${event.tenant}/agents/${cron.agent_id}/cron-jobs/${cron.job_id}`,
      cronjob: cron.job_id,
      cronname: cron.name,
      occurrence: cron.occurrence_id,
      dueat: cron.due_at,
      contenttrust: 'trusted',
    },
  };
};

/** No integration; the platform chose the tasks. */
const benchmarkMessage = (event: Recorded, publicUrl: string): Message => {
  const { benchmark } = factsOf(event) as BenchmarkDeliveryFacts;
  const message = webhookMessage(event, publicUrl);
  const attributes = omit(message.attributes, 'integration');
  const source = `${publicUrl}/benchmarks/${benchmark}`;
  return { ...message, isJson: true, attributes: { ...attributes, source, benchmark, contenttrust: 'trusted' } };
};

export const BENCHMARK_MESSAGE_TYPE = 'annals.benchmark.queued';

export const CRON_MESSAGE_TYPE = 'annals.cron.fired';

/** The message lacks the submitted value: the runner gets it when it reads its runtime again. */
const credentialMessage = (event: Recorded, publicUrl: string): Message => {
  const { agent_id } = (event as Recorded<CredentialRequestEvent>).data;
  const body = encoder.encode('{"status":"fulfilled"}');
  const source = `${publicUrl}/tenant/${event.tenant}/agents/${agent_id}/credential-requests`;
  return {
    agent: agent_id,
    delivery: null,
    attributes: { source, subject: event.id, tenant: event.tenant, agent: agent_id, contenttrust: 'trusted' },
    contentType: 'application/json',
    body,
    size: body.length,
    isJson: true,
    reference: source,
  };
};

/** The source is the mailbox, because there is no integration. */
const mailMessage = (event: Recorded, publicUrl: string): Message => {
  const facts = factsOf(event) as MailFacts;
  const message = webhookMessage(event, publicUrl);
  const attributes = omit(message.attributes, 'integration');
  const source = `${publicUrl}/tenant/${event.tenant}/agents/${facts.agent_id}/messages`;
  return { ...message, attributes: { ...attributes, source, mailmessage: event.id } };
};

export const MAIL_MESSAGE_TYPE = 'annals.mail.received';

export const CREDENTIAL_MESSAGE_TYPE = 'annals.credential.fulfilled';

/** The events that are sent to runners. */
export const runnerMessages: Readonly<Record<string, RunnerMessageType>> = {
  WebhookAccepted: {
    type: 'annals.webhook.accepted',
    summary: 'A provider delivered an event that the agent is to see',
    message: webhookMessage,
  },
  SkillWebhookCalled: {
    type: 'annals.skill.called',
    summary: "A skill's webhook was called",
    message: skillMessage,
  },
  CronJobTriggered: {
    type: CRON_MESSAGE_TYPE,
    summary: 'A cron job of the agent, or one that calls it, has fired',
    message: cronMessage,
  },
  BenchmarkRunTriggered: {
    type: BENCHMARK_MESSAGE_TYPE,
    summary: 'A benchmark run of the agent was queued: the runner reports a result for each of its tasks',
    message: benchmarkMessage,
  },
  MailReceived: {
    type: MAIL_MESSAGE_TYPE,
    summary: 'The agent got mail',
    message: mailMessage,
  },
  CredentialSubmitted: {
    type: CREDENTIAL_MESSAGE_TYPE,
    summary: 'A person has answered a credential request of the runner: its runtime has the value',
    message: credentialMessage,
  },
  ...sessionMessages,
};

const CLOSING_BRACE = 0x7d;
/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const MAX_UTF8_BYTES_PER_UNIT = 3;

/** Adds a closing brace after the body. */
const concatenate = (head: string, body: Uint8Array | null): Uint8Array => {
  const bytes = new Uint8Array(head.length * MAX_UTF8_BYTES_PER_UNIT + (body?.length ?? 0) + 1);
  let at = encoder.encodeInto(head, bytes).written;
  if (body) {
    bytes.set(body, at);
    at += body.length;
  }
  bytes[at++] = CLOSING_BRACE;
  return bytes.subarray(0, at);
};

/** A CloudEvent in JSON format. Inserts JSON unchanged, also that in a form; instead of a body of more than `inlineLimit` bytes, inserts its URL. */
export const encodeCloudEvent = (event: Recorded, type: string, message: Message, inlineLimit = MAX_INLINE_BYTES): Uint8Array => {
  const { source, subject, ...extensions } = message.attributes;
  const { attributes, text, bytes } = bodyPart(message, inlineLimit);
  const head = JSON.stringify({
    specversion: SPEC_VERSION,
    id: event.event_id,
    source,
    type,
    subject,
    time: event.at,
    ...validAttributes({ ...attributes, ...extensions }),
  });
  return concatenate(head.slice(0, -1) + text, bytes);
};

/** `time` starts within this many bytes: the attributes before it contain no text of a provider, and so are short. */
const MAX_TIME_OFFSET = 4_096;
const TIME = /"time":"([^"]+)"/;

/** When the delivery was received, from a message that `encodeCloudEvent` has encoded. */
export const timeOf = (message: Uint8Array): string | null =>
  TIME.exec(Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, MAX_TIME_OFFSET)).toString('latin1'))?.[1] ?? null;
