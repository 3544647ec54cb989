import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { duration, exact } from './time.ts';

const { ol, li, div, strong, span } = tags;

/** One step on the way of a delivery. `at` is null if its time is not known. */
export type TrailStep = {
  readonly icon: IconName;
  readonly tone: 'good' | 'warn' | 'bad' | 'dead' | 'busy' | 'calm';
  readonly title: Child;
  readonly detail?: Child;
  readonly at: string | null;
};

/** The time since the previous step whose time is known. */
const gaps = (steps: readonly TrailStep[]): (number | null)[] => {
  let before: number | null = null;
  return steps.map(({ at }) => {
    if (at === null) return null;
    const now = Date.parse(at);
    const gap = before === null ? null : Math.max(0, now - before);
    before = now;
    return gap;
  });
};

/** What happened to a delivery, step by step, with the time that each step took. */
export const trailOf = (steps: readonly TrailStep[]) => {
  const durations = gaps(steps);
  return ol(
    { class: 'trail' },
    ...steps.map(({ icon: name, tone, title, detail, at }, index) =>
      li(
        { class: tone, 'data-step': '' },
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
};
