import { z } from 'zod';
import { textAt } from '../bodies/body-inspection.ts';
import { cleanDisplayText } from '../fields.ts';
import type { PreviewCandidate } from '../integrations/conventions/provider-definition.ts';
import { findDefinition } from '../integrations/provider.ts';
import { MAIL_PROVIDER } from './mail-delivery.ts';

const MAX_FIELDS = 2;
const MAX_VALUE_LENGTH = 80;

export const PreviewField = z.object({
  name: z.string().meta({ description: 'What the value is', examples: ['title'] }),
  value: z
    .string()
    .meta({ description: `The start of the value, on one line: at most ${MAX_VALUE_LENGTH} characters`, examples: ['Found a bug'] }),
});
export type PreviewField = Readonly<z.output<typeof PreviewField>>;

const MAIL: readonly PreviewCandidate[] = [
  ['subject', '/subject'],
  ['from', '/from', '/from/address'],
];

/** For a document of an unknown kind: its own fields, then those in `data`. */
const ownFields = (document: unknown): PreviewCandidate[] => {
  if (document === null || typeof document !== 'object' || Array.isArray(document)) return [];
  const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
  const names = (within: object, prefix: string): PreviewCandidate[] =>
    Object.keys(within).map((name) => [name, `${prefix}/${escaped(name)}`]);
  const { data } = document as { data?: unknown };
  const nested = data !== null && typeof data === 'object' && !Array.isArray(data) ? names(data, '/data') : [];
  return [...names(document, ''), ...nested];
};

const fieldOf = (document: unknown, [name, ...pointers]: PreviewCandidate): PreviewField | null => {
  for (const pointer of pointers) {
    const value = textAt(document, pointer);
    const shown = value === null ? null : cleanDisplayText(value, MAX_VALUE_LENGTH);
    const shownName = cleanDisplayText(name, MAX_VALUE_LENGTH);
    if (shown !== null && shownName !== null) return { name: shownName, value: shown };
  }
  return null;
};

/** Returns at most two fields, in the order of the candidates. */
const fieldsOf = (document: unknown, candidates: readonly PreviewCandidate[]): PreviewField[] => {
  const found: PreviewField[] = [];
  for (const candidate of candidates) {
    const field = fieldOf(document, candidate);
    if (field) found.push(field);
    if (found.length === MAX_FIELDS) break;
  }
  return found;
};

/**
 * Fields that distinguish the payload from others of its provider: at most two, best first. Without a known field, the first fields with a
 * text or a whole number.
 */
export const payloadPreview = (provider: string, document: unknown): PreviewField[] => {
  const candidates = provider === MAIL_PROVIDER ? MAIL : findDefinition(provider)?.preview;
  const known = fieldsOf(document, candidates ?? []);
  return known.length > 0 ? known : fieldsOf(document, ownFields(document));
};
