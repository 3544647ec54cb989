import { nounOf } from '../../http/counted.ts';

/** The kinds of guardrail rules, in the order of their marks in styles. */
const RULE_KINDS = ['size', 'event_filter', 'json_path', 'pattern', 'injection', 'rate', 'loop'] as const;

/** The kind of rule that has each option. */
const KIND_OF_OPTION: Readonly<Record<string, (typeof RULE_KINDS)[number]>> = {
  ...{ max_bytes: 'size', allow: 'event_filter', deny: 'event_filter', path: 'json_path', when: 'json_path' },
  ...{ pattern: 'pattern', detectors: 'pattern', max: 'rate', per_seconds: 'rate', max_depth: 'loop' },
};

/** Returns the kind of guardrail rule that has an option; undefined if a rule has no such option. */
export const kindOfOption = (name: string): string | undefined => KIND_OF_OPTION[name];

/** Returns the mark by which styles show the options of a kind of rule; null if there is no such kind. */
export const markOfKind = (kind: string): string | null => {
  const at = (RULE_KINDS as readonly string[]).indexOf(kind);
  return at < 0 ? null : `k${at + 1}`;
};

const ACTS: Readonly<Record<string, string>> = { block: 'Block', redact: 'Redact', label: 'Label', hold: 'Hold' };

type Json = Readonly<Record<string, unknown>>;

const listed = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));

const WHICH: Readonly<Record<string, (options: Json) => string>> = {
  size: ({ max_bytes }) => `deliveries with more than ${Number(max_bytes).toLocaleString('en-US')} ${nounOf(Number(max_bytes), 'byte')}`,
  event_filter: ({ allow, deny }) => (deny ? `the events ${listed(deny)}` : `all events but ${listed(allow)}`),
  json_path: ({ path, when }) => `deliveries ${when === 'absent' ? 'without' : 'with'} a value at ${path}`,
  pattern: ({ pattern, detectors }) =>
    detectors ? `deliveries that contain ${listed(detectors)}` : `deliveries in which ${pattern} matches`,
  injection: () => 'deliveries with instructions to a model',
  rate: ({ max, per_seconds }) => `deliveries beyond ${max} in ${per_seconds} seconds`,
  loop: ({ max_depth }) => `deliveries to which more than ${max_depth} others led`,
};

const MAX_TEXT = 120;

/** Says what a row of a list in a form is: a guardrail rule as a sentence, or its name. Null if it is empty. */
export const rowText = (item: unknown): string | null => {
  const { kind, options, action, name, ...others } = (item ?? {}) as Json;
  const which = WHICH[String(kind)];
  if (which && action && name) return `${name}: ${ACTS[String(action)] ?? action} ${which((options ?? {}) as Json)}`.slice(0, MAX_TEXT);
  const { display_name, label, tag } = others;
  const texts = [display_name, label, tag, name, ...Object.values(others)].filter((one) => typeof one === 'string' && one !== '');
  return texts[0] === undefined ? null : String(texts[0]).slice(0, MAX_TEXT);
};
