import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { scanJson } from '../json-scanner.ts';
import type { CronJob } from '../schedule/cron-job.ts';
import type { CronOrigin } from './cron-origin.ts';
import type { DeliveryFacts } from './delivery.ts';

export const CRON_PROVIDER = 'cron';

/**
 * The delivery sends a cron job's message to an agent: it is recorded, sent, acknowledged and sent again like a provider's.
 * `integration_id`: the job; `provider_delivery_id`: the occurrence.
 */
export type CronDeliveryFacts = DeliveryFacts & { provider: typeof CRON_PROVIDER; cron: CronOrigin };

const JSON_TYPE = 'application/json';

const typeOf = (body: Uint8Array): string => {
  if (scanJson(body) === 'json') return JSON_TYPE;
  return isUtf8(body) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
};

/** Without a body, a JSON object that describes the run. The media type is the job's header content-type or, without one, derived from the body. */
const contentOf = ({ body_bytes, headers }: CronJob, origin: CronOrigin): { readonly content_type: string; readonly body: Uint8Array } => {
  const { job_id, name, occurrence_id, due_at } = origin;
  if (body_bytes === null)
    return { content_type: JSON_TYPE, body: new TextEncoder().encode(JSON.stringify({ job_id, name, occurrence_id, due_at })) };
  const body = Uint8Array.fromBase64(body_bytes);
  const declared = Object.entries(headers).find(([header]) => header.toLowerCase() === 'content-type')?.[1];
  return { content_type: declared ?? typeOf(body), body };
};

/** `agent_id`: the agent that gets the message. */
export type CronMessage = { readonly occurrence_id: string; readonly due_at: string; readonly agent_id: string; readonly at: string };

export const cronDelivery = (
  job: CronJob,
  { occurrence_id, due_at, agent_id, at }: CronMessage,
): { readonly facts: CronDeliveryFacts; readonly body: Uint8Array } => {
  const cron = { agent_id: job.agent_id, job_id: job.id, name: job.name, occurrence_id, due_at };
  const { content_type, body } = contentOf(job, cron);
  const facts: CronDeliveryFacts = {
    integration_id: job.id,
    agent_id,
    provider: CRON_PROVIDER,
    provider_delivery_id: occurrence_id,
    event: null,
    content_type,
    sha256: hash('sha256', body, 'hex'),
    size_bytes: body.length,
    matched_secret: null,
    received_at: at,
    reason: null,
    guardrails: [],
    cron,
  };
  return { facts, body };
};
