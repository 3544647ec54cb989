import { type Answer, type Ask, pathFieldsOf } from '../../http/ask.ts';
import { createsResource, isRead, type Operation, type Operations } from '../../http/operation.ts';
import type { Visit } from '../visit.ts';
import { type Field, type Form, topFields } from './form.ts';

/**
 * For changes of a resource that can be read only at another path: the operation that reads it. `names` maps the fields
 * of the change to fields of that response.
 */
const OTHER_READS: Readonly<Record<string, { readonly read: string; readonly names?: Readonly<Record<string, string>> }>> = {
  changeSkillAuthoring: { read: 'getAgent' },
  changeSkillVisibilityScope: { read: 'getAgent' },
  linkAgentRepo: { read: 'getAgent', names: { url: 'repo_url' } },
  pinAgentCodeRef: { read: 'getAgent' },
};

/** Changes whose form starts empty, because not all who may open it may read what it changes. */
const NOT_READ: readonly string[] = ['setSessionDraft'];

export type AskAny = (row: Operation, sent: object, options?: Parameters<Ask>[2]) => Promise<Answer<unknown>>;

/** Returns a function that calls an operation whose types are unknown to the compiler. */
export const askAny = ({ ask }: Visit): AskAny => ask as unknown as AskAny;

/** The values of a form's fields before a change, read from the resource. */
export type Before = { readonly value: unknown; readonly etag: string | null };

type Json = Readonly<Record<string, unknown>>;

/** Returns the part of a value for which the form has fields. */
const within = (field: Field, value: unknown): unknown => {
  if (field.kind === 'group' && typeof value === 'object' && value !== null) return pick(field.fields, value as Json);
  if (field.kind === 'rows' && Array.isArray(value)) return value.map((one) => within(field.item, one));
  return value;
};

const pick = (fields: readonly Field[], value: Json): Json =>
  Object.fromEntries(
    fields.flatMap((field) => (field.isSecret || value[field.name] === undefined ? [] : [[field.name, within(field, value[field.name])]])),
  );

/**
 * Returns the body of a form whose only field is an ordered list of ids: the ids of the items. Null for any other form.
 */
const idsOf = (fields: readonly Field[], items: readonly Json[]): Json | null => {
  const [field] = fields;
  if (fields.length !== 1 || field?.kind !== 'lines' || !field.name.endsWith('_ids')) return null;
  const name = field.name.replace(/s$/, '');
  return { [field.name]: items.map((item) => item[name]).filter((id) => id !== undefined) };
};

const bodyOfReply = (form: Form, reply: unknown, names: Readonly<Record<string, string>>): unknown => {
  const fields = topFields(form);
  if (form.body && form.body.kind !== 'group') return within(form.body, reply);
  if (Array.isArray(reply)) {
    const [field] = fields;
    if (fields.length === 1 && field?.kind === 'rows') return { [field.name]: within(field, reply) };
    return idsOf(fields, reply as Json[]);
  }
  const renamed = Object.fromEntries(Object.entries(names).map(([mine, theirs]) => [mine, (reply as Json)[theirs]]));
  return pick(fields, { ...(reply as Json), ...renamed });
};

/**
 * Returns the operation that reads the resource which an operation changes. Null if there is none, or if the operation
 * creates a resource.
 */
export const readOf = (operations: Operations, operation: string): Operation | null => {
  const row = operations[operation]!;
  if (!['put', 'patch'].includes(row.method) || createsResource(row) || NOT_READ.includes(operation)) return null;
  const other = OTHER_READS[operation];
  if (other) return operations[other.read] ?? null;
  return Object.values(operations).find((one) => isRead(one) && one.path === row.path) ?? null;
};

/** Reads the resource that a form changes, as values of the form's fields. Null if no operation reads it. */
export const readBefore = async (
  visit: Visit,
  operations: Operations,
  { operation, form, params }: { readonly operation: string; readonly form: Form; readonly params: Readonly<Record<string, string>> },
): Promise<{ readonly answer: Answer<unknown>; readonly before: Before } | null> => {
  const read = readOf(operations, operation);
  if (!read || form.path.some((name) => !params[name])) return null;
  const answer = await askAny(visit)(read, Object.fromEntries(form.path.map((name) => [name, params[name]])));
  const { names = {} } = OTHER_READS[operation] ?? {};
  const value = answer.ok ? bodyOfReply(form, answer.value, names) : undefined;
  return { answer, before: { value, etag: answer.etag } };
};

const shapeOf = (path: string): string => path.replaceAll(/:\w+/g, ':');

/**
 * Returns the operation that reads the resource below whose path an operation is, and the names of the operation's path
 * parameters for it, in order. Without one, it is the operation that lists such resources. For example, for `/tenant/:tenant_id/agents/:agent_id/pause` it reads the agent. Null if
 * there is none, or if it is the tenant in which the page is.
 */
const subjectRead = (
  operations: Operations,
  { path }: Operation,
): { readonly read: Operation; readonly names: readonly string[] } | null => {
  const parts = path.split('/');
  for (let end = parts.length; end > 0; end--) {
    if (!parts[end - 1]!.startsWith(':')) continue;
    const above = parts.slice(0, end).join('/');
    if (/^\/tenant\/:tenant_id$/.test(above)) return null;
    const read =
      Object.values(operations).find((one) => isRead(one) && shapeOf(one.path) === shapeOf(above)) ??
      (end === parts.length
        ? Object.values(operations).find((one) => isRead(one) && shapeOf(one.path) === shapeOf(parts.slice(0, end - 1).join('/')))
        : null);
    if (read) return { read, names: pathFieldsOf({ path: above }) };
  }
  return null;
};

type Place = { readonly row: Operation; readonly params: Readonly<Record<string, string>> };

/**
 * Reads the resource that an operation is about. Null if there is none, or if its id is missing. `name` is null if it
 * has none, or if it cannot be read.
 */
export const askSubject = async (
  visit: Visit,
  operations: Operations,
  { row, params }: Place,
): Promise<{ readonly answer: Answer<unknown>; readonly name: string | null } | null> => {
  const found = subjectRead(operations, row);
  if (!found || found.names.some((name) => !params[name])) return null;
  const sent = pathFieldsOf(found.read).map((name, at) => [name, params[found.names[at]!]] as const);
  const answer = await askAny(visit)(found.read, Object.fromEntries(sent));
  if (!answer.ok) return { answer, name: null };
  const id = params[found.names.at(-1)!];
  const subject = Array.isArray(answer.value) ? (answer.value as Json[]).find((one) => Object.values(one).includes(id)) : answer.value;
  const { name, label, display_name, title, slug, email, user_agent } = (subject ?? {}) as Readonly<Record<string, unknown>>;
  const names = [name, label, display_name, title, slug, email, user_agent];
  return { answer, name: names.find((one): one is string => typeof one === 'string' && one !== '') ?? null };
};

/** Returns the name of the resource that an operation is about; null if there is none, or if it cannot be read. */
export const readSubject = async (visit: Visit, operations: Operations, place: Place): Promise<string | null> =>
  (await askSubject(visit, operations, place))?.name ?? null;
