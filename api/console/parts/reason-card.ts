import type { Tone } from './badge.ts';
import { type IconName, icon } from './icon.ts';
import { type Child, tags } from './tags.ts';

const { div, p, section, h2, strong, span } = tags;

/** Why something needs attention. `facts` are short texts such as its code, `below` what to know or do next. */
export type Reason = {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title: Child;
  readonly facts?: readonly Child[];
  readonly below?: readonly Child[];
};

/** Renders why something is in its state. */
export const reasonCard = ({ tone, icon: name, title, facts = [], below = [] }: Reason) =>
  section(
    { class: `card reason-card ${tone}`, 'data-why': '' },
    h2({ class: 'hidden' }, 'Why'),
    div(
      { class: 'reason-head' },
      icon(name),
      strong(null, title),
      facts.length === 0 ? null : span({ class: 'quiet' }, ...facts.flatMap((fact, index) => (index === 0 ? [fact] : [', ', fact]))),
    ),
    ...below.map((line) => (typeof line === 'string' ? p(null, line) : line)),
  );
