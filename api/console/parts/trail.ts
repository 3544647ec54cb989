import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { duration, zoned } from './time.ts';

const { ol, li, div, span, time } = tags;

/**
 * A step in the processing of a delivery. `at` is null if the time of the step is unknown. `position` is the log
 * position of a step that is an event.
 */
export type TrailStep = {
  readonly icon: IconName;
  readonly tone: 'good' | 'warn' | 'bad' | 'dead' | 'busy' | 'calm';
  readonly title: Child;
  readonly detail?: Child;
  readonly at: string | null;
  readonly position?: string;
};

/**
 * Returns the duration of each step: the time since the latest earlier step with a known time. The clocks of two
 * processes can differ, so that a step seems to be earlier than the step before it. Such a step has the duration zero,
 * so that all durations add up to the total.
 */
export const gaps = (steps: readonly Pick<TrailStep, 'at'>[]): (number | null)[] => {
  let latest: number | null = null;
  return steps.map(({ at }) => {
    if (at === null) return null;
    const gap = latest === null ? null : Math.max(0, Date.parse(at) - latest);
    latest = Math.max(latest ?? 0, Date.parse(at));
    return gap;
  });
};

/** Returns the time from the first step with a known time to the latest one. */
const totalOf = (steps: readonly Pick<TrailStep, 'at'>[]): number => {
  const times = steps.flatMap(({ at }) => (at === null ? [] : [Date.parse(at)]));
  return times.length === 0 ? 0 : Math.max(...times) - times[0]!;
};

/** Renders the duration of a step, or the time of the first step. The exact time is shown on hover. */
const timing = (at: string | null, gap: number | null): Child => {
  if (at === null) return null;
  if (gap === null) return time({ class: 'gap', datetime: at, title: zoned(at) }, zoned(at, 'clock'));
  return span({ class: 'gap', 'data-gap': String(gap), title: zoned(at) }, `+${duration(gap)}`);
};

/** Renders the steps in the processing of a delivery on one line each, with its duration. */
export const trailOf = (steps: readonly TrailStep[]) => {
  const durations = gaps(steps);
  const total = totalOf(steps);
  const list = ol(
    { class: 'way' },
    ...steps.map(({ icon: name, tone, title, detail, at, position }, index) =>
      li(
        { class: tone, 'data-step': '', 'data-position': position ?? null, 'data-at': at },
        icon(name),
        div({ class: 'step' }, title, detail ? span({ class: 'quiet' }, ' ', detail) : null),
        timing(at, durations[index]!),
      ),
    ),
  );
  return div(null, list, div({ class: 'trail-total quiet', 'data-total': String(total) }, `In total ${duration(total)}`));
};
