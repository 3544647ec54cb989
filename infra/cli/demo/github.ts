import { createHmac, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

export type Delivery = { readonly id: string; readonly event: string; readonly body: string };

export const exampleDeliveries = (): Delivery[] => {
  const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as { name: string; examples: unknown[] }[];
  return examples.flatMap(({ name, examples: payloads }) =>
    payloads.map((payload) => ({ id: randomUUID(), event: name, body: JSON.stringify(payload) })),
  );
};

const signature = (secret: string, body: string): string => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const UNAVAILABLE = 503;
const MAX_POSTS = 20;
const RETRY_DELAY_MS = 500;

/** `status` is that of the last response, `posts` how often the delivery was posted. */
export type Answer = { readonly status: number; readonly posts: number };

/** Posts again while the service answers 503, as a provider would do. */
export const deliver = async (hook: string, secret: string, delivery: Delivery): Promise<Answer> => {
  for (let posts = 1; ; posts++) {
    const status = await post(hook, secret, delivery);
    if (status !== UNAVAILABLE || posts === MAX_POSTS) return { status, posts };
    await sleep(RETRY_DELAY_MS);
  }
};

const post = async (hook: string, secret: string, { id, event, body }: Delivery): Promise<number> => {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/annals-demo',
    'x-github-delivery': id,
    'x-github-event': event,
    'x-hub-signature-256': signature(secret, body),
  };
  const response = await fetch(hook, { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
};

/** The results are in the order of the items. */
export const mapConcurrently = async <T, R>(items: readonly T[], concurrency: number, work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  let next = 0;
  const runNext = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index]!);
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
  return results;
};
