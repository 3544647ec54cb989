import { parseArgs } from 'node:util';
import { RINGS, type Ring, type Selection } from './test-files.ts';

/** The cases that a file with generated cases runs: from and to, in per cent. `npm test` runs a tenth. */
export const QUICK_SHARE = '0-10';
const WHOLE_SHARE = '0-100';
const SHARE_LEFT_OUT = '10-100';

export type RunOptions = Selection & {
  /** Which generated cases run, as `<from>-<to>` in per cent. */
  readonly share: string;
  /** The seed of generated cases. */
  readonly seed: number;
};

const USAGE = `usage: node test/run.ts [--ring quick|live|browser|faults|all] [--shard 1/4] [--share 0-100] [--seed 7] [--after-quick] [part of a path ...]`;

const ringsOf = (ring: string | undefined, parts: readonly string[]): readonly Ring[] => {
  if (ring === 'all' || (ring === undefined && parts.length > 0)) return [];
  const found = RINGS.find((each) => each === (ring ?? 'quick'));
  if (!found) throw new Error(`there is no ring ${ring}\n${USAGE}`);
  return [found];
};

const shardOf = (text: string): readonly [number, number] => {
  const [, index, count] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (!index || !count || index > count) throw new Error(`--shard takes a part of the files, such as 1/4\n${USAGE}`);
  return [index, count];
};

const shareOf = (text: string): string => {
  const [, from = 1, to = 0] = (/^(\d+)-(\d+)$/.exec(text) ?? []).map(Number);
  if (from >= to || to > 100) throw new Error(`--share takes a range in per cent, such as 0-10\n${USAGE}`);
  return text;
};

const seedOf = (text: string): number => {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--seed takes a number\n${USAGE}`);
  return Number(text);
};

const OPTIONS = {
  ring: { type: 'string' },
  shard: { type: 'string', default: '1/1' },
  share: { type: 'string' },
  seed: { type: 'string' },
  'after-quick': { type: 'boolean', default: false },
} as const;

/**
 * Returns what `words` of the command line select. Without a ring, parts of paths are looked for in all rings.
 * @throws Error with the usage
 */
export const runOptions = (words: string[], env: NodeJS.ProcessEnv = process.env): RunOptions => {
  const { values, positionals: parts } = parseArgs({ args: words, options: OPTIONS, allowPositionals: true });
  const isAfterQuick = values['after-quick'];
  const usualShare = isAfterQuick ? SHARE_LEFT_OUT : values.ring === 'all' ? WHOLE_SHARE : QUICK_SHARE;
  return {
    parts,
    isAfterQuick,
    rings: ringsOf(values.ring, parts),
    shard: shardOf(values.shard),
    share: shareOf(values.share ?? env.TEST_SHARE ?? usualShare),
    seed: seedOf(values.seed ?? env.TEST_SEED ?? String(Math.floor(Date.now() / 1_000) % 1_000_000)),
  };
};
