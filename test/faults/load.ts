import { createHmac, randomUUID } from 'node:crypto';
import { request, Agent as Sockets } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadFactor } from '../fixtures/load-factor.ts';
import type { Hook } from './tenants.ts';

/**
 * The outcome of a POST request. `unknown` means that the sender does not know whether the delivery was accepted, so it
 * has to post the delivery again. `ms` is the response time in milliseconds.
 */
export type Answer = {
  readonly kind: 'accepted' | 'duplicate' | 'refused' | 'unknown';
  readonly id: string | null;
  readonly detail: string;
  readonly ms: number;
  /** The time at which the request was sent, on the clock of `performance.now()`. */
  readonly sentAt: number;
};

/** A delivery that was sent, and the answers to all its POST requests. */
export type SentDelivery = {
  readonly number: number;
  readonly hook: Hook;
  readonly deliveryId: string;
  readonly body: string;
  readonly answers: Answer[];
};

export const isAnswered = ({ answers }: SentDelivery): boolean => answers.some(({ kind }) => kind !== 'unknown');

const ANSWER_TIMEOUT_MS = 10_000;
const MIN_RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 3_000;
/**
 * The maximum number of unanswered deliveries that are posted again at the same time. Providers also do not post all of
 * them at once, and such a burst is not what is tested.
 */
const MAX_RETRY_WORKERS = 16;

const answerOf = (status: number, text: string, sentAt: number): Answer => {
  const kind = ({ 202: 'accepted', 200: 'duplicate', 503: 'unknown' } as const)[status] ?? 'refused';
  const id = kind === 'accepted' || kind === 'duplicate' ? (JSON.parse(text) as { id: string }).id : null;
  return { kind, id, detail: kind === 'refused' ? `${status} ${text}` : String(status), ms: performance.now() - sentAt, sentAt };
};

export const createSockets = (): Sockets => new Sockets({ keepAlive: true, maxSockets: 1_024 });

export const sign = (body: string, secret: string): string => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

export type Post = { hook: Hook; deliveryId: string; body: string; signature?: string };

/** Posts a delivery as GitHub does. Never rejects: if the connection is lost, the outcome is `unknown`. */
export const post = (
  base: string,
  sockets: Sockets,
  { hook, deliveryId, body, signature = sign(body, hook.secret) }: Post,
): Promise<Answer> =>
  new Promise((resolve) => {
    const sentAt = performance.now();
    const lost = (detail: string): void => resolve({ kind: 'unknown', id: null, detail, ms: performance.now() - sentAt, sentAt });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'GitHub-Hookshot/test',
      'x-github-event': 'push',
      'x-github-delivery': deliveryId,
      'x-hub-signature-256': signature,
    };
    const sent = request(
      base + hook.path,
      { method: 'POST', agent: sockets, headers, signal: AbortSignal.timeout(Math.round(ANSWER_TIMEOUT_MS * loadFactor())) },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', (error) => lost(error.message));
        response.on('end', () => (response.complete ? resolve(answerOf(response.statusCode!, text, sentAt)) : lost('cut off')));
        response.on('close', () => lost('cut off'));
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close an idle connection at the moment at which it is used again. HTTP clients then send again.
      if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(post(base, sockets, { hook, deliveryId, body, signature }));
      else lost(error.code ?? error.message);
    });
    sent.end(body);
  });

export type LoadOptions = {
  /** The base URLs of the API processes, which get the deliveries in turn. */
  bases: readonly string[];
  hooks: readonly Hook[];
  perSecond: number;
  /** The share of deliveries (0 to 1) that are posted a second time, whatever the first answer was. */
  duplicateRatio: number;
  /** The load ends after this number of deliveries, unless `finish` is called earlier. */
  maxDeliveries: number;
};

export type Load = {
  readonly sent: readonly SentDelivery[];
  readonly acceptedAt: readonly number[];
  /** Resolves when `maxDeliveries` deliveries have been sent or `finish` has been called. */
  readonly allSent: Promise<void>;
  /**
   * Stops sending new deliveries, but posts unanswered ones again for up to `retryMs` milliseconds (90 seconds if
   * absent). Resolves when every delivery is answered or this time is over.
   */
  readonly finish: (retryMs?: number) => Promise<void>;
};

const PUSH = { ref: 'refs/heads/main', repository: { id: 1, full_name: 'acme/shop' }, commits: ['x'.repeat(900)] };

/**
 * Posts deliveries at a steady rate, and posts some of them twice. If the outcome of a post is unknown, it is repeated
 * with the same delivery id.
 */
export const startLoad = ({ bases, hooks, perSecond, duplicateRatio, maxDeliveries }: LoadOptions): Load => {
  const sockets = createSockets();
  const sent: SentDelivery[] = [];
  const acceptedAt: number[] = [];
  const pending = new Set<Promise<void>>();
  let isEnding = false;
  let posts = 0;
  let giveUpAt = Number.POSITIVE_INFINITY;

  const postOnce = async (delivery: SentDelivery): Promise<Answer> => {
    const answer = await post(bases[posts++ % bases.length]!, sockets, delivery);
    delivery.answers.push(answer);
    if (answer.kind === 'accepted') acceptedAt.push(Date.now());
    return answer;
  };

  const retryQueue: SentDelivery[] = [];
  let retryWorkers = 0;

  const retry = async (delivery: SentDelivery): Promise<void> => {
    let delayMs = MIN_RETRY_DELAY_MS;
    while ((await postOnce(delivery)).kind === 'unknown' && Date.now() < giveUpAt) {
      await sleep(delayMs * (0.5 + Math.random()));
      delayMs = Math.min(MAX_RETRY_DELAY_MS, 2 * delayMs);
    }
  };

  const retryWorker = async (): Promise<void> => {
    retryWorkers++;
    for (let delivery = retryQueue.shift(); delivery; delivery = retryQueue.shift()) await retry(delivery);
    retryWorkers--;
  };

  const postUntilAnswered = async (delivery: SentDelivery): Promise<void> => {
    if ((await postOnce(delivery)).kind !== 'unknown') return;
    retryQueue.push(delivery);
    if (retryWorkers < MAX_RETRY_WORKERS) track(retryWorker);
  };

  const track = (work: () => Promise<void>): void => {
    const promise = work().finally(() => pending.delete(promise));
    pending.add(promise);
  };

  const send = (): void => {
    const number = sent.length;
    const body = JSON.stringify({ number, ...PUSH });
    const delivery: SentDelivery = { number, hook: hooks[number % hooks.length]!, deliveryId: randomUUID(), body, answers: [] };
    sent.push(delivery);
    track(() => postUntilAnswered(delivery));
    if (Math.random() >= duplicateRatio) return;
    // Half of the duplicates are posted at the same moment as the original, the others up to three seconds later.
    track(() => sleep(Math.random() < 0.5 ? 0 : Math.random() * 3_000).then(() => postUntilAnswered(delivery)));
  };

  const allSent = (async () => {
    const startedAt = Date.now();
    while (!isEnding && sent.length < maxDeliveries) {
      send();
      await sleep(Math.max(0, startedAt + (sent.length * 1_000) / perSecond - Date.now()));
    }
  })();

  return {
    sent,
    acceptedAt,
    allSent,
    finish: async (retryMs = 90_000) => {
      isEnding = true;
      giveUpAt = Date.now() + retryMs;
      await allSent;
      while (pending.size > 0) await Promise.all(pending);
      sockets.destroy();
    },
  };
};
