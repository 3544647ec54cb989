import { z } from 'zod';
import { cleanDisplayText } from '../fields.ts';
import { textAt } from './body-inspection.ts';
import { MAIL_PROVIDER } from './mail-delivery.ts';
import type { Provider } from './provider.ts';

const MAX_FIELDS = 2;
const MAX_VALUE_LENGTH = 80;

export const PreviewField = z.object({
  name: z.string().meta({ description: 'What the value is', examples: ['title'] }),
  value: z
    .string()
    .meta({ description: `The start of the value, on one line: at most ${MAX_VALUE_LENGTH} characters`, examples: ['Found a bug'] }),
});
export type PreviewField = Readonly<z.output<typeof PreviewField>>;

/** A name, and the JSON pointers to the fields whose value may be shown under it; the first one that exists is used. */
type Candidate = readonly [name: string, ...pointers: string[]];

const GITLAB: readonly Candidate[] = [
  ['title', '/object_attributes/title', '/merge_request/title', '/issue/title'],
  ['message', '/commits/0/message', '/commit/message'],
  ['status', '/object_attributes/status', '/build_status'],
  ['ref', '/ref', '/object_attributes/ref'],
  ['project', '/project/path_with_namespace'],
];

/** The fields of each provider that tell its deliveries apart best, the best one first. */
const CANDIDATES: Readonly<Partial<Record<Provider | typeof MAIL_PROVIDER, readonly Candidate[]>>> = {
  github: [
    ['title', '/pull_request/title', '/issue/title', '/discussion/title', '/alert/summary'],
    ['name', '/workflow_run/name', '/check_run/name', '/release/name', '/label/name'],
    ['message', '/head_commit/message'],
    ['ref', '/ref'],
    ['repository', '/repository/full_name'],
    ['action', '/action'],
    ['sender', '/sender/login'],
    ['zen', '/zen'],
  ],
  gitlab: GITLAB,
  gitlab_token: GITLAB,
  bitbucket: [
    ['title', '/pullrequest/title', '/issue/title'],
    ['branch', '/push/changes/0/new/name', '/push/changes/0/old/name'],
    ['repository', '/repository/full_name'],
  ],
  jira: [
    ['summary', '/issue/fields/summary'],
    ['comment', '/comment/body'],
    ['issue', '/issue/key', '/issue/id'],
  ],
  slack: [
    ['text', '/event/text', '/text'],
    ['action', '/actions/0/value', '/actions/0/action_id', '/callback_id'],
    ['reaction', '/event/reaction'],
    ['channel', '/event/channel', '/channel_name'],
    ['user', '/event/user', '/user_name', '/user/username', '/user/id'],
  ],
  zoom: [
    ['topic', '/payload/object/topic'],
    ['meeting', '/payload/object/id'],
  ],
  stripe: [
    ['object', '/data/object/id'],
    ['amount', '/data/object/amount', '/data/object/amount_due'],
    ['status', '/data/object/status'],
  ],
  linear: [
    ['title', '/data/title', '/data/name', '/data/body'],
    ['action', '/action'],
  ],
  shopify: [
    ['title', '/title', '/name'],
    ['total', '/total_price'],
    ['id', '/id'],
  ],
  twilio: [
    ['body', '/Body'],
    ['from', '/From'],
    ['id', '/MessageSid', '/CallSid'],
  ],
  discord: [
    ['command', '/data/name'],
    ['type', '/event/type'],
    ['id', '/id', '/application_id'],
  ],
  pagerduty: [
    ['title', '/event/data/title', '/event/data/summary'],
    ['status', '/event/data/status'],
    ['incident', '/event/data/id'],
  ],
  sentry: [
    ['title', '/data/issue/title', '/data/event/title', '/data/error/title'],
    ['rule', '/data/triggered_rule'],
    ['action', '/action'],
  ],
  intercom: [
    ['message', '/data/item/message'],
    ['item', '/data/item/type'],
    ['id', '/data/item/id'],
  ],
  [MAIL_PROVIDER]: [
    ['subject', '/subject'],
    ['from', '/from', '/from/address'],
  ],
};

/** Returns candidates for a document of an unknown kind: its own fields, those in `data` after them. */
const ownFields = (document: unknown): Candidate[] => {
  if (document === null || typeof document !== 'object' || Array.isArray(document)) return [];
  const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
  const names = (within: object, prefix: string): Candidate[] => Object.keys(within).map((name) => [name, `${prefix}/${escaped(name)}`]);
  const { data } = document as { data?: unknown };
  const nested = data !== null && typeof data === 'object' && !Array.isArray(data) ? names(data, '/data') : [];
  return [...names(document, ''), ...nested];
};

const fieldOf = (document: unknown, [name, ...pointers]: Candidate): PreviewField | null => {
  for (const pointer of pointers) {
    const value = textAt(document, pointer);
    const shown = value === null ? null : cleanDisplayText(value, MAX_VALUE_LENGTH);
    const shownName = cleanDisplayText(name, MAX_VALUE_LENGTH);
    if (shown !== null && shownName !== null) return { name: shownName, value: shown };
  }
  return null;
};

/** Returns the fields of a document that the candidates name: at most two, in the order of the candidates. */
const fieldsOf = (document: unknown, candidates: readonly Candidate[]): PreviewField[] => {
  const found: PreviewField[] = [];
  for (const candidate of candidates) {
    const field = fieldOf(document, candidate);
    if (field) found.push(field);
    if (found.length === MAX_FIELDS) break;
  }
  return found;
};

/**
 * Returns the fields of a payload that tell it apart from others of its provider: at most two, with the best one first.
 * If the payload has none of the provider's known fields, the first fields with a text or a whole number are taken.
 */
export const payloadPreview = (provider: string, document: unknown): PreviewField[] => {
  const known = fieldsOf(document, CANDIDATES[provider as Provider] ?? []);
  return known.length > 0 ? known : fieldsOf(document, ownFields(document));
};
