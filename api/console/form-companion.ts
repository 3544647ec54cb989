import type { Operations } from '../http/operation.ts';
import { mayRun } from './permission.ts';
import type { Visit } from './visit.ts';

/**
 * A second button of a form, which sends the fields to another operation. If `part` is set, it sends only the fields
 * below this JSON pointer.
 */
export type Companion = { readonly operation: string; readonly label: string; readonly part?: string };

const COMPANIONS: Readonly<Record<string, Companion>> = {
  declareCronBlackout: { operation: 'previewCronBlackout', label: 'Preview the impact' },
  previewCronBlackout: { operation: 'declareCronBlackout', label: 'Declare the blackout' },
  createCronJob: { operation: 'previewCronDraft', label: 'Preview the runs' },
  previewCronDraft: { operation: 'createCronJob', label: 'Create the cron job' },
  tryGuardrails: { operation: 'replaceGuardrails', label: 'Save these rules', part: '/rules' },
};

/**
 * Returns the second button of an operation's form. Null if there is none, or the visitor may not call its operation.
 */
export const companionOf = async (
  visit: Visit,
  operations: Operations,
  { operation, params }: { readonly operation: string; readonly params: Readonly<Record<string, string>> },
): Promise<Companion | null> => {
  const companion = COMPANIONS[operation];
  const row = companion && operations[companion.operation];
  return row && (await mayRun(visit, row, params)) ? companion : null;
};

/**
 * Returns the fields of a submitted form. If the pressed button sends only a part of the body, returns only the fields
 * of this part, with pointers relative to it.
 */
export const submittedFields = (text: string): URLSearchParams => {
  const fields = new URLSearchParams(text);
  const part = fields.get('_part');
  if (!part) return fields;
  const kept = [...fields].flatMap(([name, value]) => {
    if (name === '_drawn' || name === '_part') return [];
    if (!name.startsWith('/')) return [[name, value]];
    return name.startsWith(`${part}/`) ? [[name.slice(part.length), value]] : [];
  });
  return new URLSearchParams(kept);
};

const DAY_MS = 86_400_000;
const TRIED_DAYS = 7;

/** Initial values of a form whose operation neither creates nor changes anything. */
export type Suggested = { readonly value: object; readonly etag: string | null };

const NOTHING: Suggested = { value: {}, etag: null };

/**
 * Returns the initial values for a trial of guardrails: the current rules and redaction patterns, and the last seven
 * days.
 */
const suggestTrial = async ({ ask, rows, params }: Visit): Promise<Suggested> => {
  const path = { tenant_id: params.tenant_id! };
  const [rules, patterns] = await Promise.all([ask(rows.listGuardrails, path), ask(rows.listRedactionPatterns, path)]);
  const now = Date.now();
  const period = { from: new Date(now - TRIED_DAYS * DAY_MS).toISOString(), to: new Date(now).toISOString() };
  const value = { ...(rules.ok && { rules: rules.value }), ...(patterns.ok && { redaction_patterns: patterns.value }), ...period };
  return { value, etag: rules.etag };
};

/** Returns the initial values for the form of an operation that changes nothing. */
export const suggestedFor = async (visit: Visit, operation: string): Promise<Suggested> =>
  operation === 'tryGuardrails' ? suggestTrial(visit) : NOTHING;
