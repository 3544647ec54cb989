import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The effect of the message with this number in its session, as `session-runner.ts` writes it. */
export type Effect = { readonly session: string; readonly number: number; readonly event_id: string };

/** The lines of all effects so far, in their order. */
export const effectsIn = (home: string): Effect[] => {
  const file = join(home, 'effects');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => {
    const [session = '', number, event_id = ''] = line.split(' ');
    return { session, number: Number(number), event_id };
  });
};

/** A message may have its effect again, but not after the next one of its session has had its own. */
export const wrongOrder = (effects: readonly Effect[], messages: number): string[] =>
  [...Map.groupBy(effects, ({ session }) => session)].flatMap(([session, all]) => {
    const numbers = all.map(({ number }) => number);
    const isInOrder = numbers.every((number, index) => [0, 1].includes(number - (numbers[index - 1] ?? -1)));
    return isInOrder && numbers.at(-1) === messages - 1 ? [] : [`the session ${session} had the effects ${numbers.join(' ')}`];
  });

/**
 * Finds effects that were repeated without a reason. A kill explains that each message which a worker was processing has
 * its effect once more, so at most as many of a run as there are workers. `atKills` are the numbers of effects at the kills.
 */
export const wrongRepeats = (effects: readonly Effect[], atKills: readonly number[], workers: number): string[] => {
  const runs = [...atKills, effects.length].map((end, run) => effects.slice(atKills[run - 1] ?? 0, end).map(({ event_id }) => event_id));
  return runs.flatMap((ids, run) => {
    const later = new Set(runs.slice(run + 1).flat());
    const repeated = ids.filter((id) => later.has(id));
    return [
      ...(new Set(ids).size === ids.length ? [] : [`run ${run} of the runner had an effect twice`]),
      ...(repeated.length <= workers ? [] : [`${repeated.length} effects of run ${run} were repeated`]),
    ];
  });
};
