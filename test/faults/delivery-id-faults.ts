import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Answer, createSockets, post, type SentDelivery } from './load.ts';
import { type Deployment, judge, type OutageReport, withoutRejectedRows } from './outage-trial.ts';
import type { Platform } from './platform.ts';
import type { Hook } from './tenants.ts';

const COPIES = 100;
/** With the one that every platform has, so that the copies of a delivery reach four processes. */
const MORE_PROCESSES = 3;
const DAY_MS = 86_400_000;
const SHIFTED_CLOCK = pathToFileURL(`${import.meta.dirname}/../fixtures/shifted-clock.mjs`).href;
const MAX_ID_BYTES = 255;
const MAX_SENT_ID_BYTES = 4_096;
const WORKERS = 5;
const PRINTABLE = { first: 0x21, end: 0x7f };

const createDelivery = (number: number, hook: Hook, deliveryId: string = randomUUID()): SentDelivery => ({
  ...{ number, hook, deliveryId, answers: [] },
  body: JSON.stringify({ number, unique: randomUUID() }),
});

/** `send` posts a delivery once and keeps the answer. */
const createSender = () => {
  const sockets = createSockets();
  const send = async (base: string, delivery: SentDelivery): Promise<Answer> => {
    const answer = await post(base, sockets, delivery);
    delivery.answers.push(answer);
    return answer;
  };
  return { send, close: () => sockets.destroy() };
};

/** What is wrong with the answers to copies of one delivery: one must be 202, all others 200. */
const wrongCopies = ({ number, answers }: SentDelivery): string[] => {
  const kinds = Map.groupBy(answers, ({ kind }) => kind);
  const accepted = kinds.get('accepted')?.length ?? 0;
  const duplicates = kinds.get('duplicate')?.length ?? 0;
  if (accepted === 1 && accepted + duplicates === answers.length) return [];
  return [`of ${answers.length} copies of delivery ${number}, ${accepted} got 202 and ${duplicates} got 200`];
};

const judgeCopies = async (deployment: Deployment, sent: readonly SentDelivery[], more: Record<string, number>): Promise<OutageReport> => {
  const { findings, figures } = await judge(deployment, sent);
  const wrong = sent.flatMap(wrongCopies);
  return { findings: { ...findings, unexpected: [...findings.unexpected, ...wrong] }, figures: { ...more, ...figures } };
};

/**
 * F9: in each round, a hundred copies of a delivery are sent at the same moment to four API processes. One must be
 * accepted, the others acknowledged, and the delivery recorded and processed once.
 */
export const runConcurrentCopies = async (deployment: Deployment, rounds: number): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const started = await Promise.all(Array.from({ length: MORE_PROCESSES }, () => platform.startServeProcess()));
  const bases = [platform.url, ...started];
  const { send, close } = createSender();
  const sent: SentDelivery[] = [];
  for (let round = 0; round < rounds; round++) {
    const delivery = createDelivery(round, hooks[round % hooks.length]!);
    sent.push(delivery);
    await Promise.all(Array.from({ length: COPIES }, (_, copy) => send(bases[copy % bases.length]!, delivery)));
  }
  close();
  return judgeCopies(deployment, sent, { rounds, 'API processes': bases.length });
};

/** Starts an API process whose clock is so many days ahead. */
const startLater = (platform: Platform, days: number): Promise<string> =>
  platform.startServeProcess({ NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: String(days * DAY_MS) });

/**
 * F10: each delivery is sent twice at the same moment, and again after a second, three days and 89 days, each time to
 * an API process that has not seen it. All but the first must be acknowledged without effect.
 */
export const runLateRedeliveries = async (deployment: Deployment, count: number): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const { send, close } = createSender();
  const sent = Array.from({ length: count }, (_, number) => createDelivery(number, hooks[number % hooks.length]!));
  for (const delivery of sent) await Promise.all([send(platform.url, delivery), send(platform.url, delivery)]);
  await sleep(1_000);
  const bases = [await platform.startServeProcess(), await startLater(platform, 3), await startLater(platform, 89)];
  for (const base of bases) for (const delivery of sent) await send(base, delivery);
  close();
  return judgeCopies(deployment, sent, { 'redeliveries of each': bases.length + 1, 'days until the last one': 89 });
};

const printable = (length: number): string =>
  String.fromCharCode(...Array.from({ length }, () => randomInt(PRINTABLE.first, PRINTABLE.end)));

/** Ids that differ only in their case or in the spaces within them; the first one has a random length. */
const similarIds = (): string[] => {
  const length = Math.random() < 0.5 ? randomInt(1, MAX_ID_BYTES + 1) : randomInt(1, MAX_SENT_ID_BYTES + 1);
  const stem = randomBytes(4).toString('hex');
  const first = printable(length);
  return [...new Set([first, first.toUpperCase(), first.toLowerCase(), `${stem} ${stem}`, `${stem}  ${stem}`, `${stem}\t${stem}`])];
};

/** Whether an id is too long, or has a character that is not printable. */
const isMalformed = (id: string): boolean => id.length > MAX_ID_BYTES || id.includes('\t');

/** The answer to an id that was sent to an integration before, or was not. */
const expectedAnswer = (id: string, isKnown: boolean): string => {
  if (isMalformed(id)) return 'refused with 400';
  return isKnown ? 'duplicate' : 'accepted';
};

const shownAnswer = ({ kind, detail }: Answer): string => (kind === 'refused' ? `refused with ${detail.slice(0, 3)}` : kind);

/**
 * F11: similar ids are different deliveries, and the same id at two integrations of two tenants is a delivery of each.
 * Ids of more than 255 bytes or with a tab are refused. Spaces around an id do not belong to it.
 */
export const runSimilarIds = async (deployment: Deployment, cases: number): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const { send, close } = createSender();
  const deliveries = new Map<string, SentDelivery>();
  const wrong: string[] = [];
  let refused = 0;
  let done = 0;

  const sendTo = async (hook: Hook, id: string, written = id): Promise<void> => {
    const key = `${hook.id} ${id}`;
    const known = deliveries.get(key);
    const delivery = known ?? createDelivery(deliveries.size, hook, id);
    if (isMalformed(id)) refused++;
    else deliveries.set(key, delivery);
    const answer = await send(platform.url, { ...delivery, deliveryId: written });
    const expected = expectedAnswer(id, known !== undefined);
    if (shownAnswer(answer) !== expected) wrong.push(`an id of ${id.length} bytes was ${shownAnswer(answer)} instead of ${expected}`);
  };

  const work = async (pair: readonly Hook[]): Promise<void> => {
    while (done++ < cases)
      for (const id of similarIds()) {
        for (const hook of pair) await sendTo(hook, id);
        await sendTo(pair[0]!, id, ` ${id}\t `);
      }
  };
  // Each worker has an integration of both tenants.
  const half = hooks.length / 2;
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work([hooks[index]!, hooks[index + half]!])));
  close();
  const report = await judge(deployment, [...deliveries.values()]);
  const [findings, figures] = [withoutRejectedRows(report.findings), report.figures];
  return {
    findings: { ...findings, unexpected: [...findings.unexpected, ...wrong] },
    figures: { cases, 'malformed ids': refused, ...figures },
  };
};
