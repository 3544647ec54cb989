import { setTimeout as sleep } from 'node:timers/promises';
import { check, type Findings } from './checker.ts';
import { observe } from './final-state.ts';
import { isAnswered, type Load, type Sent, startLoad } from './load.ts';
import { PIECES, type Platform } from './platform.ts';
import { type Runner, startRunner } from './runners.ts';
import { type EstateSize, makeEstate } from './tenants.ts';

/** Every process that is killed: those of the platform, and runners. */
export const TARGETS = [...PIECES, 'runner'] as const;
export type Target = (typeof TARGETS)[number];

export type TrialOptions = {
  /** How often each of them is killed. */
  kills: number;
  targets?: readonly Target[];
  perSecond?: number;
  size?: EstateSize;
  say?: (line: string) => void;
};

export type Kill = { readonly target: Target; readonly backMs: number };

export type Report = {
  readonly findings: Findings;
  readonly kills: readonly Kill[];
  readonly figures: Readonly<Record<string, number>>;
};

const SIZE: EstateSize = { tenants: 2, agents: 2, hooks: 2 };
const WARM_MS = 1_500;
const PAUSE_MS = [300, 1_700] as const;
/** A load that nobody ends must end by itself. */
const MAX_DELIVERIES = 30_000;

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

const pause = (): Promise<void> => sleep(PAUSE_MS[0] + Math.random() * (PAUSE_MS[1] - PAUSE_MS[0]));

type Ground = { readonly platform: Platform; readonly runners: readonly Runner[] };

const killOne = ({ platform, runners }: Ground, target: Target): Promise<number> =>
  target === 'runner' ? shuffled(runners)[0]!.kill() : platform.kill(target);

/** Kills each target so many times, in an order that chance gives, while the one before may still be coming back. */
const killAll = async (ground: Ground, { kills, targets = TARGETS, say = () => {} }: TrialOptions): Promise<Kill[]> => {
  const done: Kill[] = [];
  for (let round = 1; round <= kills; round++)
    for (const target of shuffled(targets)) {
      const backMs = await killOne(ground, target);
      done.push({ target, backMs });
      say(`round ${round}: ${target} was killed, its successor began after ${backMs} ms`);
      await pause();
    }
  return done;
};

/** The longest time in which no delivery was newly accepted though some were sent all the time. */
const longestGap = (times: readonly number[]): number =>
  times.slice(1).reduce((longest, at, index) => Math.max(longest, at - times[index]!), 0);

const answersOf = (sent: readonly Sent[]) => sent.flatMap(({ answers }) => answers);

const slowest = (sent: readonly Sent[], kinds: readonly string[]): number =>
  Math.round(answersOf(sent).reduce((most, { kind, ms }) => (kinds.includes(kind) ? Math.max(most, ms) : most), 0));

const figuresOf = ({ sent, acceptedAt }: Load, seconds: number): Record<string, number> => {
  const answers = answersOf(sent);
  const of = (kind: string): number => answers.filter((answer) => answer.kind === kind).length;
  const doubtful = sent.filter(({ answers: [first] }) => first?.kind === 'unknown');
  return {
    'load, seconds': Math.round(seconds),
    deliveries: sent.length,
    posts: answers.length,
    'answered 202': of('accepted'),
    'answered 200': of('duplicate'),
    'answered 503 or cut off': of('unknown'),
    refused: of('refused'),
    'first post unknown': doubtful.length,
    'unknown that had been recorded': doubtful.filter(
      ({ answers: all }) => !all.some(({ kind }) => kind === 'accepted') && all.some(({ kind }) => kind === 'duplicate'),
    ).length,
    'unknown at the end': sent.filter((one) => !isAnswered(one)).length,
    'longest time without an acceptance, ms': longestGap(acceptedAt),
    'slowest 202 or 200, ms': slowest(sent, ['accepted', 'duplicate']),
    'slowest 503 or cut, ms': slowest(sent, ['unknown']),
  };
};

/** Puts a platform under load, kills its processes one after the other, lets everything come to rest, and compares. */
export const trial = async (platform: Platform, options: TrialOptions): Promise<Report> => {
  const { perSecond = 50, size = SIZE, say = () => {} } = options;
  const { agents, hooks } = await makeEstate(platform, size);
  const runners = await Promise.all(agents.map((agent) => startRunner(platform, agent)));
  const began = Date.now();
  const load = startLoad({ bases: [platform.url], hooks, perSecond, duplicates: 0.1, most: MAX_DELIVERIES });
  await sleep(WARM_MS);
  const kills = await killAll({ platform, runners }, options);
  await sleep(WARM_MS);
  await load.finish();
  const seconds = (Date.now() - began) / 1_000;
  say(`the load is over after ${Math.round(seconds)} s; waiting until everything has come to rest`);
  const { observed, acknowledged } = await observe(platform, load.sent, hooks, runners);
  const killsOf = (name: Target): number => kills.filter(({ target }) => target === name).length;
  const findings = check(observed, { cuts: killsOf('nats'), runnerKills: killsOf('runner') });
  return {
    findings,
    kills,
    figures: {
      ...figuresOf(load, seconds),
      'events in the log': observed.log.length,
      'rows in the view': observed.rows.length,
      'messages in the stream': observed.messages.length,
      'given to commands': observed.given.length,
      'effects of commands': [...observed.effects.values()].flat().length,
      'in the ledgers of runners': runners.reduce((sum, { ledger }) => sum + new Set(ledger()).size, 0),
      'acknowledgements in the log': acknowledged,
      'drain, seconds': Math.round((Date.now() - began) / 1_000 - seconds),
    },
  };
};
