import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { duration, exact } from './time.ts';

const { ol, li, div, strong, span } = tags;

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

/** Renders the steps in the processing of a delivery, each with its duration. */
export const trailOf = (steps: readonly TrailStep[]) => {
  const durations = gaps(steps);
  const total = totalOf(steps);
  const list = ol(
    { class: 'trail' },
    ...steps.map(({ icon: name, tone, title, detail, at, position }, index) =>
      li(
        { class: tone, 'data-step': '', 'data-position': position ?? null, 'data-at': at } as never,
        span({ class: 'dot' }, icon(name)),
        div(
          { class: 'step' },
          div(
            { class: 'row' },
            strong(null, title),
            durations[index] === null
              ? null
              : span({ class: 'gap', 'data-gap': String(durations[index]) }, `+${duration(durations[index]!)}`),
          ),
          detail ? div({ class: 'quiet' }, detail) : null,
          at === null ? null : div({ class: 'quiet' }, exact(at)),
        ),
      ),
    ),
  );
  return div(null, list, div({ class: 'trail-total quiet', 'data-total': String(total) }, `In total ${duration(total)}`));
};
