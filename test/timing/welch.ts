import { randomInt } from 'node:crypto';

/** Two classes of inputs that should take the same time. */
export type Classes<T> = readonly [readonly T[], readonly T[]];

const CROPPED = 0.8;

const moments = (values: readonly number[]): { mean: number; variance: number } => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1) };
};

/** How two samples differ: Welch's t, and their means' difference as a share of the smaller mean. */
export type Difference = { readonly t: number; readonly share: number };

/** Compares two samples without the slowest fifth of both together: what the system does between has no class (dudect). */
export const welch = (one: readonly number[], other: readonly number[]): Difference => {
  const all = [...one, ...other].sort((a, b) => a - b);
  const crop = all[Math.floor(all.length * CROPPED)]!;
  const kept = [one, other].map((values) => values.filter((value) => value < crop)) as [number[], number[]];
  const [a, b] = kept.map(moments) as [ReturnType<typeof moments>, ReturnType<typeof moments>];
  return {
    t: (a.mean - b.mean) / Math.sqrt(a.variance / kept[0].length + b.variance / kept[1].length),
    share: Math.abs(a.mean - b.mean) / Math.min(a.mean, b.mean),
  };
};

/** The difference of so many runs of each class, in an order drawn anew each time, once as many have warmed up. */
export const compare = async <T>(run: (input: T) => unknown, classes: Classes<T>, runs = 4_000): Promise<Difference> => {
  const taken: [number[], number[]] = [[], []];
  for (let index = -runs; index < 2 * runs; index++) {
    const which = randomInt(2) as 0 | 1;
    const inputs = classes[which];
    const input = inputs[randomInt(inputs.length)]!;
    const began = process.hrtime.bigint();
    const answer = run(input);
    if (answer instanceof Promise) await answer;
    const ended = process.hrtime.bigint();
    if (index >= 0) taken[which].push(Number(ended - began));
  }
  return welch(...taken);
};
