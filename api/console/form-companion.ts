import type { Answer } from '../http/ask.ts';
import type { Operations } from '../http/operation.ts';
import { formOf } from './form.ts';
import { askAny } from './form-read.ts';
import { mayRun } from './permission.ts';
import type { Visit } from './visit.ts';

/**
 * A second button of a form, which sends the fields to another operation. If `part` is set, it sends only the fields
 * below this JSON pointer.
 */
export type Companion = { readonly operation: string; readonly label: string; readonly part?: string };

const COMPANIONS: Readonly<Record<string, Companion>> = {
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

type Json = Readonly<Record<string, unknown>>;

/**
 * An operation that says what the fields of a form would do, and records nothing. Its result is shown beside the form:
 * while people type, or when they press the button with this label. Without a label, the form's own button calls it.
 * Of the form's fields, only `fields` are sent; by default, all. `base` is an operation that reads further fields, and
 * `fixed` are fields with fixed values. With `isFirst`, the result is shown as soon as the form opens.
 */
export type Preview = {
  readonly operation: string;
  readonly label: string | null;
  readonly fields?: readonly string[];
  readonly base?: string;
  readonly fixed?: Json;
  readonly isFirst?: true;
};

const SCHEDULE = ['kind', 'schedule_type', 'cron_expr', 'interval_minutes', 'start_time', 'fire_at', 'timezone'];

const COUNT = { label: 'Count the deliveries', fixed: { dry_run: true } } as const;

const PREVIEWS: Readonly<Record<string, Preview>> = {
  declareCronBlackout: { operation: 'previewCronBlackout', label: 'Preview the impact' },
  createCronJob: { operation: 'previewCronDraft', label: 'Preview the runs', fields: SCHEDULE },
  updateCronJob: { operation: 'previewCronDraft', label: 'Preview the runs', fields: SCHEDULE, base: 'getCronJob' },
  tryGuardrails: { operation: 'tryGuardrails', label: null },
  replayDeliveries: { operation: 'replayDeliveries', ...COUNT },
  replayTenantDeliveries: { operation: 'replayTenantDeliveries', ...COUNT, isFirst: true },
};

/** Returns the preview of an operation's form. Null if there is none, or the visitor may not call its operation. */
export const previewOf = async (
  visit: Visit,
  operations: Operations,
  { operation, params }: { readonly operation: string; readonly params: Readonly<Record<string, string>> },
): Promise<Preview | null> => {
  const preview = PREVIEWS[operation];
  const row = preview && operations[preview.operation];
  return row && (await mayRun(visit, row, params)) ? preview : null;
};

const picked = (value: Json, { fields }: Preview): Json =>
  fields === undefined ? value : Object.fromEntries(Object.entries(value).filter(([name]) => fields.includes(name)));

/**
 * Calls the operation of a preview. It is sent the fields of the form, and those of the resource that the form does not
 * have. Returns the answer, and the fields that were sent.
 */
export const askPreview = async (
  visit: Visit,
  operations: Operations,
  { preview, params, body }: { readonly preview: Preview; readonly params: Readonly<Record<string, string>>; readonly body: unknown },
): Promise<{ readonly answer: Answer<unknown>; readonly sent: Json }> => {
  const base = preview.base === undefined ? undefined : operations[preview.base];
  const known = base && (await askAny(visit)(base, visit.params));
  const typed = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Json) : {};
  const sent = { ...(known?.ok ? picked(known.value as Json, preview) : {}), ...picked(typed, preview), ...preview.fixed };
  const row = operations[preview.operation]!;
  const path = Object.fromEntries(formOf(row).path.map((name) => [name, params[name]]));
  return { answer: await askAny(visit)(row, { ...sent, ...path }), sent };
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
