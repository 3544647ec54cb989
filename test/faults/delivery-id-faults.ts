import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Answer, createSockets, post, type SentDelivery } from './load.ts';
import { type Deployment, judge, type OutageReport, withoutRejectedRows } from './outage-trial.ts';
import type { RunningPlatform } from './running-platform.ts';
import type { Hook } from './tenants.ts';

const COPIES = 100;
/** The number of API processes in addition to the one of the platform. A delivery then reaches four processes. */
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

/**
 * Returns two functions: `send` posts a delivery once and adds the answer to the delivery, and `close` closes the
 * connections.
 */
const createSender = () => {
  const sockets = createSockets();
  const send = async (base: string, delivery: SentDelivery): Promise<Answer> => {
    const answer = await post(base, sockets, delivery);
    delivery.answers.push(answer);
    return answer;
  };
  return { send, close: () => sockets.destroy() };
};

/**
 * The time in milliseconds after which a process stores a delivery in its spool because the event store does not answer.
 * Then it cannot know whether another process has stored the same delivery.
 */
const SPOOL_AFTER_MS = 500;

const mayBeSpooled = ({ ms }: Answer): boolean => ms >= SPOOL_AFTER_MS;

/**
 * Checks the answers to copies of one delivery: one must be 202 and all others 200. More than one may be 202 if the event
 * store was slow, because a copy may then be in the spool of a process. Returns a message if the answers are wrong.
 */
const wrongCopies = ({ number, answers }: SentDelivery): string[] => {
  const kinds = Map.groupBy(answers, ({ kind }) => kind);
  const accepted = kinds.get('accepted')?.length ?? 0;
  const duplicates = kinds.get('duplicate')?.length ?? 0;
  const mayRepeat = answers.some(mayBeSpooled);
  if ((accepted === 1 || (mayRepeat && accepted > 1)) && accepted + duplicates === answers.length) return [];
  return [`of ${answers.length} copies of delivery ${number}, ${accepted} got 202 and ${duplicates} got 200`];
};

const judgeCopies = async (
  deployment: Deployment<RunningPlatform>,
  sent: readonly SentDelivery[],
  more: Record<string, number>,
): Promise<OutageReport> => {
  const { findings, figures } = await judge(deployment, sent);
  const wrong = sent.flatMap(wrongCopies);
  return { findings: { ...findings, unexpected: [...findings.unexpected, ...wrong] }, figures: { ...more, ...figures } };
};

/** Starts further API processes of a platform. @returns their base URLs */
export const startOtherProcesses = (platform: RunningPlatform): Promise<string[]> =>
  Promise.all(Array.from({ length: MORE_PROCESSES }, () => platform.startServeProcess()));

/**
 * Sends a hundred copies of a delivery to four API processes at the same moment, in each round (fault F9). One copy
 * must get 202 and the others 200. The delivery must be recorded and processed once.
 */
export const runConcurrentCopies = async (
  deployment: Deployment<RunningPlatform>,
  others: readonly string[],
  rounds: number,
): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const bases = [platform.url, ...others];
  const { send, close } = createSender();
  const sent: SentDelivery[] = [];
  for (let round = 0; round < rounds; round++) {
    // Each integration is used in two rounds: in the first one, the processes have not yet cached it.
    const delivery = createDelivery(round, hooks[Math.floor(round / 2) % hooks.length]!);
    sent.push(delivery);
    await Promise.all(Array.from({ length: COPIES }, (_, copy) => send(bases[copy % bases.length]!, delivery)));
  }
  close();
  return judgeCopies(deployment, sent, { rounds, 'API processes': bases.length });
};

/** Starts an API process whose clock is `days` days ahead. @returns its base URL */
const startLater = (platform: RunningPlatform, days: number): Promise<string> =>
  platform.startServeProcess({ NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: String(days * DAY_MS) });

/**
 * Sends each delivery twice at the same moment, and again after a second, after three days and after 89 days (fault
 * F10). Each repetition goes to an API process that has not seen the delivery; the processes have different clocks,
 * which simulate the days. One request must be accepted, and the others acknowledged without effect. `other` is the base
 * URL of an API process with the right clock.
 */
export const runLateRedeliveries = async (deployment: Deployment<RunningPlatform>, other: string, count: number): Promise<OutageReport> => {
  const { platform, hooks } = deployment;
  const { send, close } = createSender();
  const sent = Array.from({ length: count }, (_, number) => createDelivery(number, hooks[number % hooks.length]!));
  for (const delivery of sent) await Promise.all([send(platform.url, delivery), send(platform.url, delivery)]);
  await sleep(1_000);
  const bases = [other, ...(await Promise.all([3, 89].map((days) => startLater(platform, days))))];
  for (const base of bases) for (const delivery of sent) await send(base, delivery);
  close();
  return judgeCopies(deployment, sent, { 'redeliveries of each': bases.length + 1, 'days until the last one': 89 });
};

const printable = (length: number): string =>
  String.fromCharCode(...Array.from({ length }, () => randomInt(PRINTABLE.first, PRINTABLE.end)));

/**
 * Returns delivery ids that differ only in case or in the white space within them. The length of the first one is
 * random.
 */
const similarIds = (): string[] => {
  const length = Math.random() < 0.5 ? randomInt(1, MAX_ID_BYTES + 1) : randomInt(1, MAX_SENT_ID_BYTES + 1);
  const stem = randomBytes(4).toString('hex');
  const first = printable(length);
  return [...new Set([first, first.toUpperCase(), first.toLowerCase(), `${stem} ${stem}`, `${stem}  ${stem}`, `${stem}\t${stem}`])];
};

/** Returns whether a delivery id is too long or contains a tab. Such ids are refused. */
const isMalformed = (id: string): boolean => id.length > MAX_ID_BYTES || id.includes('\t');

/** Returns the expected answer to an id. `isKnown` says whether the id was sent to the same integration before. */
const expectedAnswer = (id: string, isKnown: boolean): string => {
  if (isMalformed(id)) return 'refused with 400';
  return isKnown ? 'duplicate' : 'accepted';
};

const shownAnswer = ({ kind, detail }: Answer): string => (kind === 'refused' ? `refused with ${detail.slice(0, 3)}` : kind);

/**
 * Checks three rules for delivery ids (fault F11). Similar ids identify different deliveries, and so does one id at
 * integrations of two tenants. Ids of more than 255 bytes or with a tab are refused. White space around an id is
 * ignored.
 */
export const runSimilarIds = async (deployment: Deployment<RunningPlatform>, cases: number): Promise<OutageReport> => {
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
    const mayRepeat = delivery.answers.some(mayBeSpooled);
    const answer = await send(platform.url, { ...delivery, deliveryId: written });
    const expected = expectedAnswer(id, known !== undefined);
    const isRight = shownAnswer(answer) === expected || (mayRepeat && answer.kind === 'accepted');
    if (!isRight) wrong.push(`an id of ${id.length} bytes was ${shownAnswer(answer)} instead of ${expected}`);
  };

  const work = async (pair: readonly Hook[]): Promise<void> => {
    while (done++ < cases)
      for (const id of similarIds()) {
        for (const hook of pair) await sendTo(hook, id);
        await sendTo(pair[0]!, id, ` ${id}\t `);
      }
  };
  // Each concurrent worker sends to two integrations, one of each tenant.
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
