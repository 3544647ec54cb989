import { z } from 'zod';
import { AUDIT_RECORDS } from '../audit-records.ts';
import { actionOf } from './audit-entry.ts';
import { listed, type Part, partsOf } from './audit-summary.ts';
import { fieldWords, providerName } from './field-words.ts';

/** A part of a sentence: a text, and what it names. Without a name to refer to, `kind` and `id` are null. */
export const SentencePart = z.object({
  text: z.string().meta({ description: 'A text of the sentence', examples: ['Ada'] }),
  kind: z
    .string()
    .nullable()
    .meta({ description: 'The kind of what the text names; null if it names nothing', examples: ['user'] }),
  id: z
    .string()
    .nullable()
    .meta({ description: 'The id of what the text names', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
});
export type SentencePart = z.output<typeof SentencePart>;

/** The fields of an audit log entry from which its sentence is made. */
export type Described = {
  readonly action: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string | null; readonly email: string | null };
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly resource_name: string | null;
  readonly agent_id: string | null;
  readonly subjects: readonly { readonly kind: string; readonly id: string; readonly name: string | null }[];
  readonly meta: Readonly<Record<string, unknown>>;
};

type Reference = { readonly kind: string; readonly id: string | null; readonly name: string | null };

export const RECORDS = new Map([...AUDIT_RECORDS].map(([type, record]) => [actionOf(type), record]));
const PARTS = new Map(
  [...RECORDS].map(([action, { summary, summaryForPlatform = summary }]) => [
    action,
    { ofPlatform: partsOf(summaryForPlatform), ofOthers: partsOf(summary) },
  ]),
);

const ANY_ID = /\bc[a-z0-9]{24}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

/** Shows a text without the ids in it, such as those in a path. */
const withoutIds = (text: string): string => text.replace(ANY_ID, '…');

const plain = (text: string): SentencePart => ({ text, kind: null, id: null });

const PEOPLE = ['user', 'member'];

const actorPart = ({ action, actor }: Described): readonly SentencePart[] => {
  const { kind, id, name, email } = actor;
  const shown = name ?? email;
  if (shown !== null && kind !== 'system') return [{ text: shown, kind, id }];
  // A super-admin is not a member: their name is not shown to the tenant.
  if (kind === 'user') return [plain(action.startsWith('super_admin.') ? 'A super-admin' : 'A user of the platform')];
  if (kind === 'agent') return [{ text: 'An agent', kind, id }];
  if (shown === null) return [plain('The platform')];
  if (action.startsWith('skill_webhook')) return [plain(`The webhook of the skill ${shown}`)];
  return [plain('The integration '), { text: shown, kind: 'integration', id }];
};

/** What a word in braces refers to; null if it is a value of the event. */
const referenceOf = (field: string, entry: Described): Reference | null => {
  const { resource_type: kind, resource_id: id, resource_name: name, agent_id, subjects, meta } = entry;
  const resource = { kind, id, name };
  const ofKind = (wanted: string): Reference => subjects.find((one) => one.kind === wanted) ?? { kind: wanted, id: null, name: null };
  if (field === 'resource') return resource;
  if (field === 'person') return PEOPLE.includes(kind) ? resource : ofKind('user');
  if (field === 'skill') return kind === 'skill' ? resource : ofKind('skill');
  if (field === 'agent') {
    if (agent_id === id || kind === 'agent') return resource;
    return subjects.find((one) => one.id === agent_id) ?? { kind: 'agent', id: agent_id, name: null };
  }
  if (!field.endsWith('_id')) return null;
  const value = typeof meta[field] === 'string' ? meta[field] : null;
  return subjects.find((one) => one.id === value) ?? { kind: field.slice(0, -3), id: value, name: null };
};

const articleOf = (noun: string): string => (/^(?!user)[aeiou]/i.test(noun) ? 'an ' : 'a ');
const NOUN = '((?:API |deleted |erased )?[a-z]+(?: job| run| credential| key)?)';
const NOUN_BEFORE = new RegExp(`^(.*?)\\bthe ${NOUN} $`);
const NOUN_WITH_NAME = new RegExp(`\\bthe ${NOUN} \\{\\w+\\}`, 'g');

/** Without a name, `gave up the delivery {delivery_id}` becomes `gave up a delivery`. */
const referenceParts = (before: string, { kind, id, name }: Reference): readonly SentencePart[] => {
  if (name !== null) return [plain(before), { text: withoutIds(name), kind, id }];
  const [, start, noun] = NOUN_BEFORE.exec(before) ?? [];
  if (noun !== undefined) return [plain(`${start}${articleOf(noun)}`), { text: noun, kind, id }];
  return [plain(before), plain(PEOPLE.includes(kind) ? 'a person' : 'one without a name')];
};

const words = (name: string): string => name.replaceAll('_', ' ');

/** The fields whose values can be codes of the API, such as `agent_inactive`. */
const CODES: readonly string[] = ['reason', 'outcome', 'status', 'cause', 'kind', 'decision'];
const CODE = /^[a-z]+(?:_[a-z]+)+$/;

const valueText = (field: string, meta: Described['meta']): string => {
  if (field === 'fields')
    return (
      listed(
        Object.keys(meta)
          .filter((name) => name !== 'reason')
          .map(fieldWords),
      ) || 'nothing'
    );
  const value = meta[field];
  if (field === 'provider' && typeof value === 'string') return providerName(value);
  if (CODES.includes(field) && typeof value === 'string' && CODE.test(value)) return words(value);
  return typeof value === 'string' || typeof value === 'number' ? withoutIds(String(value)) : 'unknown';
};

const partsFor = ({ text, field }: Part, entry: Described): readonly SentencePart[] => {
  if (field === null) return [plain(text)];
  const reference = referenceOf(field, entry);
  return reference ? referenceParts(text, reference) : [plain(text + valueText(field, entry.meta))];
};

/** Joins texts that follow one another, and leaves out empty ones. */
const joined = (parts: readonly SentencePart[]): SentencePart[] => {
  const result: SentencePart[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (part.kind === null && last?.kind === null) result[result.length - 1] = plain(last.text + part.text);
    else if (part.text !== '') result.push(part);
  }
  return result;
};

/** Returns the sentence of an audit log entry, in parts. It contains names where they are known, and no ids. */
export const sentenceOf = (entry: Described): SentencePart[] => {
  const found = PARTS.get(entry.action);
  const templates = entry.actor.kind === 'system' ? found?.ofPlatform : found?.ofOthers;
  const rest = templates?.flatMap((template) => partsFor(template, entry)) ?? [plain(words(entry.action))];
  return joined([...actorPart(entry), plain(' '), ...rest]);
};

/** Returns an action in words, such as `gave a person a role on an agent`. */
export const actionWords = (action: string): string => {
  const { summary } = RECORDS.get(action) ?? { summary: words(action) };
  return summary
    .replace(/,? (?:until|at|after|as|to|from) \{(?!resource|person|agent)[a-z_]+\}( attempts| entries)?/g, '')
    .replace(/: \{\w+\}.*$/, '')
    .replace(NOUN_WITH_NAME, (_, noun: string) => articleOf(noun) + noun)
    .replaceAll('{fields}', 'settings')
    .replaceAll('{person}', 'a person')
    .replaceAll('{percent} %', 'a part')
    .replaceAll('{resource}', action.startsWith('super_admin.') ? 'a user' : '')
    .replace(/ ?\{\w+\}/g, '')
    .replace(/(?: of)? +$/, '')
    .replaceAll('  ', ' ');
};
