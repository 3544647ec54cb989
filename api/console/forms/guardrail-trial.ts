import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import type { Visit } from '../visit.ts';
import { askAny } from './form-read.ts';

const DAY_MS = 86_400_000;
const TRIED_DAYS = 7;

type Rules = ReplyOf<Rows['listGuardrails']>;
type Json = Readonly<Record<string, unknown>>;

/** The part of a trial's fields that a form edits. */
export type TrialPart = 'rules' | 'redaction_patterns';

/** The fields of a trial. `before` is the number of tried rules that come before those of the form. */
type TrialFields = { readonly fields: Json; readonly before: number };

const readCurrent = async ({ ask, rows, params }: Visit) => {
  const path = { tenant_id: params.tenant_id! };
  const [rules, patterns] = await Promise.all([ask(rows.listGuardrails, path), ask(rows.listRedactionPatterns, path)]);
  return { rules, patterns };
};

/** Returns the last seven days. */
const triedPeriod = (): { readonly from: string; readonly to: string } => {
  const now = Date.now();
  return { from: new Date(now - TRIED_DAYS * DAY_MS).toISOString(), to: new Date(now).toISOString() };
};

const fieldsOf = ({ rules, patterns }: Awaited<ReturnType<typeof readCurrent>>) => ({
  ...(rules.ok && { rules: rules.value }),
  ...(patterns.ok && { redaction_patterns: patterns.value }),
  ...triedPeriod(),
});

/**
 * Returns the initial values of a trial: the current rules and redaction patterns of the tenant, and the last seven
 * days. Also returns their ETags, by the operation that replaces them.
 */
export const suggestTrial = async (visit: Visit) => {
  const current = await readCurrent(visit);
  const etags = { replaceGuardrails: current.rules.etag, replaceRedactionPatterns: current.patterns.etag };
  return { value: fieldsOf(current), etag: JSON.stringify(etags) };
};

/** Gives the rules of the tenant other names than those of an integration, because a trial needs different names. */
const renamed = (rules: Rules, others: readonly Json[]): Rules =>
  rules.map((rule) =>
    others.some(({ name }) => name === rule.name) ? { ...rule, name: `tenant.${rule.name}`.slice(0, 64).trimEnd() } : rule,
  );

/**
 * Returns the fields of a trial of what a form edits. The rules of an integration are tried on its deliveries, after
 * those of the tenant.
 */
export const trialFields = async (visit: Visit, part: TrialPart, body: unknown): Promise<TrialFields> => {
  const items = (Array.isArray(body) ? body : []) as readonly Json[];
  const current: Json = { rules: [], ...fieldsOf(await readCurrent(visit)) };
  const integration_id = visit.params.id;
  if (part === 'redaction_patterns' || integration_id === undefined) return { fields: { ...current, [part]: items }, before: 0 };
  const earlier = renamed(current.rules as Rules, items);
  return { fields: { ...current, rules: [...earlier, ...items], integration_id }, before: earlier.length };
};

/** Converts the pointers to errors in a trial's fields to pointers in the form that edits this part of them. */
export const errorsInForm = (
  answer: Answer<unknown> & { readonly ok: false },
  part: TrialPart,
  before: number,
  /** The index of the form's first tried item. */
  first = 0,
): Answer<unknown> & { readonly ok: false } => {
  const errors = answer.problem.errors?.map(({ pointer, message }) => {
    const [, index, rest = ''] = new RegExp(`^/${part}/(\\d+)(/.*)?$`).exec(pointer) ?? [];
    return { message, pointer: index === undefined ? pointer : `/${Number(index) - before + first}${rest}` };
  });
  return { ...answer, problem: { ...answer.problem, ...(errors && { errors }) } };
};

/** An operation that saves a part of a trial's fields. */
export type SavedPart = { readonly operation: string; readonly part: TrialPart };

/** The result of saving: the last consistency token, or the first refusal. `etags` are those to save with next. */
type Saved = { readonly token: string | null; readonly refused: (Answer<unknown> & { readonly ok: false }) | null; readonly etags: string };

/**
 * Saves parts of a trial's fields, each with its own operation. Ends at the first that is refused. The errors in its
 * answer then point to the fields of the trial.
 */
export const saveParts = async (
  visit: Visit,
  parts: readonly SavedPart[],
  { body, etags, params }: { readonly body: Json; readonly etags: string | null; readonly params: Json },
): Promise<Saved> => {
  const known = JSON.parse(etags ?? '{}') as Record<string, string | null>;
  let token: string | null = null;
  for (const { operation, part } of parts) {
    const row = visit.rows[operation as keyof Rows];
    const etag = known[operation];
    const sent = { tenant_id: params.tenant_id, items: body[part] ?? [] };
    const answer = await askAny(visit)(row, sent, { headers: etag ? { 'if-match': etag } : {} });
    if (!answer.ok) {
      const errors = answer.problem.errors?.map((one) => ({ ...one, pointer: `/${part}${one.pointer}` }));
      return { token, refused: { ...answer, problem: { ...answer.problem, ...(errors && { errors }) } }, etags: JSON.stringify(known) };
    }
    known[operation] = answer.etag;
    token = answer.headers.get('consistency-token') ?? token;
  }
  return { token, refused: null, etags: JSON.stringify(known) };
};
