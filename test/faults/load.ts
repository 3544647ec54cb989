import { createHmac, randomUUID } from 'node:crypto';
import { request, Agent as Sockets } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Hook } from './tenants.ts';

/** What one post came to. `unknown`: it may have been taken or not; the sender has to ask again. */
export type Answer = {
  readonly kind: 'accepted' | 'duplicate' | 'refused' | 'unknown';
  readonly id: string | null;
  readonly says: string;
  readonly ms: number;
};

/** One delivery of a provider, and all that was answered to its posts. */
export type Sent = {
  readonly number: number;
  readonly hook: Hook;
  readonly delivery: string;
  readonly body: string;
  readonly answers: Answer[];
};

export const isAnswered = ({ answers }: Sent): boolean => answers.some(({ kind }) => kind !== 'unknown');

const ANSWER_MS = 10_000;
const AGAIN_MS = 250;
const MAX_AGAIN_MS = 3_000;
/** Who sends again by hand or script does not do it with all at once: that would be another fault than the one on trial. */
const REPEATERS = 16;

const answerOf = (status: number, text: string, ms: number): Answer => {
  const kind = ({ 202: 'accepted', 200: 'duplicate', 503: 'unknown' } as const)[status] ?? 'refused';
  const id = kind === 'accepted' || kind === 'duplicate' ? (JSON.parse(text) as { id: string }).id : null;
  return { kind, id, says: kind === 'refused' ? `${status} ${text}` : String(status), ms };
};

export const newSockets = (): Sockets => new Sockets({ keepAlive: true, maxSockets: 1_024 });

export const sign = (body: string, secret: string): string => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

export type Post = { hook: Hook; delivery: string; body: string; signature?: string };

/** Posts as GitHub does. Never rejects: a lost connection is an answer too. */
export const post = (
  base: string,
  sockets: Sockets,
  { hook, delivery, body, signature = sign(body, hook.secret) }: Post,
): Promise<Answer> =>
  new Promise((resolve) => {
    const began = performance.now();
    const lost = (says: string): void => resolve({ kind: 'unknown', id: null, says, ms: performance.now() - began });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'GitHub-Hookshot/test',
      'x-github-event': 'push',
      'x-github-delivery': delivery,
      'x-hub-signature-256': signature,
    };
    const sent = request(
      base + hook.path,
      { method: 'POST', agent: sockets, headers, signal: AbortSignal.timeout(ANSWER_MS) },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', (error) => lost(error.message));
        response.on('end', () =>
          response.complete ? resolve(answerOf(response.statusCode!, text, performance.now() - began)) : lost('cut off'),
        );
        response.on('close', () => lost('cut off'));
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => lost(error.code ?? error.message));
    sent.end(body);
  });

export type LoadOptions = {
  /** Where to post: taken in turn. */
  bases: readonly string[];
  hooks: readonly Hook[];
  perSecond: number;
  /** Part of the deliveries that are posted a second time, whatever was answered. */
  duplicates: number;
  /** Ends the load at the latest after so many deliveries. */
  most: number;
};

export type Load = {
  readonly sent: readonly Sent[];
  readonly acceptedAt: readonly number[];
  /** Settles when `most` were sent, or the load was ended. */
  readonly pacing: Promise<void>;
  /** Sends no more, waits until every post is answered or has been repeated for `patience` ms, and resolves. */
  readonly finish: (patience?: number) => Promise<void>;
};

const PUSH = { ref: 'refs/heads/main', repository: { id: 1, full_name: 'acme/shop' }, commits: ['x'.repeat(900)] };

/** Deliveries at an even pace, some of them twice; those whose outcome is unknown are posted again under the same id. */
export const startLoad = ({ bases, hooks, perSecond, duplicates, most }: LoadOptions): Load => {
  const sockets = newSockets();
  const sent: Sent[] = [];
  const acceptedAt: number[] = [];
  const working = new Set<Promise<void>>();
  let ending = false;
  let posts = 0;
  let giveUpAt = Number.POSITIVE_INFINITY;

  const once = async (one: Sent): Promise<Answer> => {
    const answer = await post(bases[posts++ % bases.length]!, sockets, one);
    one.answers.push(answer);
    if (answer.kind === 'accepted') acceptedAt.push(Date.now());
    return answer;
  };

  const again: Sent[] = [];
  let repeaters = 0;

  const repeat = async (one: Sent): Promise<void> => {
    for (let wait = AGAIN_MS; (await once(one)).kind === 'unknown' && Date.now() < giveUpAt; wait = Math.min(MAX_AGAIN_MS, 2 * wait))
      await sleep(wait * (0.5 + Math.random()));
  };

  const repeater = async (): Promise<void> => {
    repeaters++;
    for (let one = again.shift(); one; one = again.shift()) await repeat(one);
    repeaters--;
  };

  const untilAnswered = async (one: Sent): Promise<void> => {
    if ((await once(one)).kind !== 'unknown') return;
    again.push(one);
    if (repeaters < REPEATERS) begin(repeater);
  };

  const begin = (work: () => Promise<void>): void => {
    const promise = work().finally(() => working.delete(promise));
    working.add(promise);
  };

  const send = (): void => {
    const number = sent.length;
    const body = JSON.stringify({ number, ...PUSH });
    const one: Sent = { number, hook: hooks[number % hooks.length]!, delivery: randomUUID(), body, answers: [] };
    sent.push(one);
    begin(() => untilAnswered(one));
    if (Math.random() >= duplicates) return;
    // Half of them at the same moment, half while or after the first attempt is judged.
    begin(() => sleep(Math.random() < 0.5 ? 0 : Math.random() * 3_000).then(() => untilAnswered(one)));
  };

  const pacing = (async () => {
    const began = Date.now();
    while (!ending && sent.length < most) {
      send();
      await sleep(Math.max(0, began + (sent.length * 1_000) / perSecond - Date.now()));
    }
  })();

  return {
    sent,
    acceptedAt,
    pacing,
    finish: async (patience = 90_000) => {
      ending = true;
      giveUpAt = Date.now() + patience;
      await pacing;
      while (working.size > 0) await Promise.all(working);
      sockets.destroy();
    },
  };
};
