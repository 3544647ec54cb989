import type { Answer } from '../../http/ask.ts';
import type { Operations } from '../../http/operation.ts';
import { mayRun } from '../permission.ts';
import type { Visit } from '../visit.ts';
import { formOf } from './form.ts';
import { askAny } from './form-read.ts';
import { errorsInForm, type SavedPart, suggestTrial, type TrialPart, trialFields } from './guardrail-trial.ts';

const HOUR_MS = 3_600_000;

/** A second button of a form, which saves parts of its fields with other operations. */
export type Companion = { readonly label: string; readonly parts: readonly SavedPart[] };

const COMPANIONS: Readonly<Record<string, Companion>> = {
  tryGuardrails: {
    label: 'Save these rules and patterns',
    parts: [
      { operation: 'replaceGuardrails', part: 'rules' },
      { operation: 'replaceRedactionPatterns', part: 'redaction_patterns' },
    ],
  },
};

/**
 * Returns the second button of an operation's form. Null if there is none, or the visitor may not call its operations.
 */
export const companionOf = async (
  visit: Visit,
  operations: Operations,
  { operation, params }: { readonly operation: string; readonly params: Readonly<Record<string, string>> },
): Promise<Companion | null> => {
  const companion = COMPANIONS[operation];
  if (!companion) return null;
  const allowed = await Promise.all(companion.parts.map((one) => mayRun(visit, operations[one.operation]!, params)));
  const parts = companion.parts.filter((_, index) => allowed[index]);
  return parts.length > 0 ? { ...companion, parts } : null;
};

type Json = Readonly<Record<string, unknown>>;

/**
 * An operation that says what the fields of a form would do, and records nothing. Its result is shown beside the form:
 * while people type, or when they press the button with this label. Without a label, the form's own button calls it.
 * Only `fields` of the form are sent; by default, all. `base` is an operation that reads further fields, and
 * `fixed` are fields with fixed values. With `isFirst`, the result is shown as soon as the form opens. If `trial` is set,
 * the form edits this part of the fields of a guardrail trial.
 */
export type Preview = {
  readonly operation: string;
  readonly label: string | null;
  readonly fields?: readonly string[];
  readonly base?: string;
  readonly fixed?: Json;
  /** For fields whose name in the form differs: the names that are sent, by the names in the form. */
  readonly names?: Readonly<Record<string, string>>;
  /** The number of past hours that the operation covers. */
  readonly hours?: number;
  readonly isFirst?: true;
  readonly trial?: TrialPart;
  /** Set if the console itself says what the fields mean. The operation then only decides whether the visitor may see this. */
  readonly isOwn?: true;
};

const SCHEDULE = ['kind', 'schedule_type', 'cron_expr', 'interval_minutes', 'start_time', 'fire_at', 'timezone'];

const COUNT = { label: 'Count the deliveries', fixed: { dry_run: true } } as const;

/** Seven days. */
const BUDGET_HOURS = 168;

const TRY = 'Try on the last seven days';

const PREVIEWS: Readonly<Record<string, Preview>> = {
  declareCronBlackout: {
    ...{ operation: 'previewBlackoutImpact', label: 'Preview the impact', names: { agent_id: 'agent_ids' } },
    fields: ['start_date', 'end_date', 'timezone', 'recurring_yearly', 'agent_id'],
  },
  createCronJob: { operation: 'previewCronDraft', label: 'Preview the runs', fields: SCHEDULE },
  updateCronJob: { operation: 'previewCronDraft', label: 'Preview the runs', fields: SCHEDULE, base: 'getCronJob' },
  changeAgentBudget: {
    ...{ operation: 'readBudgetUsage', label: 'Preview the limit', fields: ['hourly_limit_usd'] },
    ...{ names: { hourly_limit_usd: 'limit_usd' }, hours: BUDGET_HOURS, isFirst: true },
  },
  connectWebhookIntegration: {
    ...{ operation: 'connectWebhookIntegration', label: 'Show the next steps', fields: ['provider', 'options'], isOwn: true },
  },
  tryGuardrails: { operation: 'tryGuardrails', label: null },
  replayDeliveries: { operation: 'replayDeliveries', ...COUNT },
  replayTenantDeliveries: { operation: 'replayTenantDeliveries', ...COUNT, isFirst: true },
  replaceGuardrails: { operation: 'tryGuardrails', label: TRY, trial: 'rules' },
  replaceIntegrationGuardrails: { operation: 'tryGuardrails', label: TRY, trial: 'rules' },
  replaceRedactionPatterns: { operation: 'tryGuardrails', label: TRY, trial: 'redaction_patterns' },
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

/** Returns the fields of the form that a preview sends, and those of the resource that the form does not have. */
const ownFields = async (visit: Visit, operations: Operations, preview: Preview, body: unknown): Promise<Json> => {
  const base = preview.base === undefined ? undefined : operations[preview.base];
  const known = base && (await askAny(visit)(base, visit.params));
  const typed = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Json) : {};
  const own = { ...(known?.ok ? picked(known.value as Json, preview) : {}), ...picked(typed, preview) };
  const { names = {}, hours } = preview;
  const now = Date.now();
  return {
    ...Object.fromEntries(
      Object.entries(own).flatMap(([name, value]) => (names[name] ? (value === null ? [] : [[names[name], value]]) : [[name, value]])),
    ),
    ...(hours ? { from: new Date((Math.floor(now / HOUR_MS) - hours + 1) * HOUR_MS).toISOString() } : {}),
  };
};

type Refused = Answer<unknown> & { readonly ok: false };

/** Returns a refusal whose errors point to fields by their names in the form. */
const withOwnNames = (answer: Refused, { names = {} }: Preview): Refused => {
  const own = Object.entries(names);
  const errors = answer.problem.errors?.map(({ pointer, message }) => {
    const found = own.find(([, sent]) => pointer === `/${sent}` || pointer.startsWith(`/${sent}/`));
    return { message, pointer: found ? `/${found[0]}` : pointer };
  });
  return { ...answer, problem: { ...answer.problem, ...(errors && { errors }) } };
};

type Asked = {
  readonly preview: Preview;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The index of the only row that is tried; by default, all are. */
  readonly only?: number | undefined;
};

/**
 * Calls the operation of a preview. It is sent the fields of the form, and those of the resource that the form does not
 * have. Returns the answer, and the fields that were sent.
 */
export const askPreview = async (
  visit: Visit,
  operations: Operations,
  { preview, params, body, only }: Asked,
): Promise<{ readonly answer: Answer<unknown>; readonly sent: Json }> => {
  const { trial } = preview;
  const tried = only !== undefined && Array.isArray(body) ? body.slice(only, only + 1) : body;
  const { fields, before } = trial
    ? await trialFields(visit, trial, tried)
    : { fields: await ownFields(visit, operations, preview, body), before: 0 };
  const sent = { ...fields, ...preview.fixed };
  const row = operations[preview.operation]!;
  const path = Object.fromEntries(formOf(row).path.map((name) => [name, params[name]]));
  const answer = await askAny(visit)(row, { ...sent, ...path });
  if (answer.ok) return { answer, sent };
  return { answer: trial ? errorsInForm(answer, trial, before, only) : withOwnNames(answer, preview), sent };
};

/** Initial values of a form whose operation neither creates nor changes anything. */
export type Suggested = { readonly value: object; readonly etag: string | null };

const NOTHING: Suggested = { value: {}, etag: null };

/** Returns the initial values for the form of an operation that changes nothing. */
export const suggestedFor = async (visit: Visit, operation: string): Promise<Suggested> =>
  operation === 'tryGuardrails' ? suggestTrial(visit) : NOTHING;
