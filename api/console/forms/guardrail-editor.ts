import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { countText } from '../parts/count-text.ts';
import { card } from '../parts/facts.ts';
import { type Child, tags } from '../parts/tags.ts';
import { mayRun } from '../permission.ts';
import type { Visit } from '../visit.ts';
import { isSame } from './form-body.ts';
import { labelOf } from './form-words.ts';
import { rowText } from './row-words.ts';

const { li, p, strong, ul } = tags;

const RULE_FORMS: readonly string[] = ['replaceGuardrails', 'replaceIntegrationGuardrails'] satisfies readonly (keyof Rows)[];

/** Whether the form of an operation edits guardrail rules, which can be tried one by one. */
export const editsRules = (operation: string): boolean => RULE_FORMS.includes(operation);

type Rule = Readonly<Record<string, unknown>>;

const DONE = ['blocked', 'redacted', 'labelled', 'held'] as const;

/** Says to how many deliveries of the last 24 hours a rule applied. */
export const hitsText = ({ rules, exact }: ReplyOf<Rows['summarizeGuardrails']>, name: string): string => {
  const found = rules.find(({ rule }) => rule === name);
  const counts = DONE.flatMap((one) => (found && found[one] > 0 ? [`${countText(found[one])} ${one}`] : []));
  return `${exact ? '' : 'at least '}${counts.join(', ') || '0'}`;
};

/**
 * Returns a function that says how often a rule applied to deliveries in the last 24 hours; null for a rule whose name is
 * not among the saved ones. Undefined for other forms, or if the visitor may not read it.
 */
export const readNotes = async (
  visit: Visit,
  operation: string,
  saved: unknown,
): Promise<((item: unknown) => string | null) | undefined> => {
  const { ask, rows, params } = visit;
  const { tenant_id, id } = params;
  if (!editsRules(operation) || !tenant_id || !(await mayRun(visit, rows.summarizeGuardrails, params))) return undefined;
  const of = operation === 'replaceIntegrationGuardrails' && id ? { integration_id: id } : {};
  const answer = await ask(rows.summarizeGuardrails, { tenant_id, ...of });
  if (!answer.ok) return undefined;
  const names = new Set(rulesIn(saved).map(({ name }) => name));
  return (item) => {
    const name = (item as Rule | null)?.name;
    return names.has(name) ? `${hitsText(answer.value, String(name))} in 24 h` : null;
  };
};

const rulesIn = (value: unknown): readonly Rule[] => (Array.isArray(value) ? value.map((one) => (one ?? {}) as Rule) : []);

const sentence = (rule: Rule): string => rowText(rule) ?? String(rule.name ?? 'a rule');

/** Returns the fields of a rule, and its options beside them. */
const flatOf = ({ options, ...others }: Rule): Rule => ({ ...others, ...(options as Rule | undefined) });

const valueText = (value: unknown): string => {
  if (value === undefined || value === null) return 'none';
  if (Array.isArray(value)) return value.map(valueText).join(', ') || 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** Lists the fields in which two versions of a rule differ, with their full values. */
const fieldChanges = (earlier: Rule, rule: Rule): string => {
  const [from, to] = [flatOf(earlier), flatOf(rule)];
  return [...new Set([...Object.keys(to), ...Object.keys(from)])]
    .filter((field) => !isSame(from[field], to[field]))
    .map((field) => `${labelOf(field)} ${valueText(to[field])} (before: ${valueText(from[field])})`)
    .join(', ');
};

/** Says how two lists of rules differ. Rules with the same name count as the same rule. */
const ruleChanges = (from: unknown, to: unknown): readonly (readonly [what: string, text: string])[] => {
  const [before, after] = [rulesIn(from), rulesIn(to)];
  const named = (rules: readonly Rule[]) => new Map(rules.map((rule) => [rule.name, rule]));
  const [old, next] = [named(before), named(after)];
  const kept = before.filter(({ name }) => next.has(name)).map(({ name }) => name);
  const order = after.filter(({ name }) => old.has(name)).map(({ name }) => name);
  const isMoved = !isSame(kept, order);
  return [
    ...before.filter(({ name }) => !next.has(name)).map((rule) => ['Removed', sentence(rule)] as const),
    ...after.filter(({ name }) => !old.has(name)).map((rule) => ['Added', sentence(rule)] as const),
    ...after.flatMap((rule) => {
      const earlier = old.get(rule.name);
      return earlier === undefined || isSame(earlier, rule) ? [] : [['Changed', `${rule.name}: ${fieldChanges(earlier, rule)}`] as const];
    }),
    ...(isMoved ? [['New order', order.join(', ')] as const] : []),
  ];
};

/** Renders how the rules of a form differ from the present ones, and what they would have done. */
export const ruleReview = (from: unknown, to: unknown, trial: Child): readonly Child[] => {
  const changes = ruleChanges(from, to);
  return [
    card(
      'What changes',
      changes.length === 0
        ? p({ role: 'status', 'data-review': '0' }, 'Nothing. The rules are as they were.')
        : ul(
            { class: 'review-list', 'data-review': String(changes.length) },
            ...changes.map(([what, text]) => li(null, strong(null, what), ' ', text)),
          ),
    ),
    trial,
  ];
};
