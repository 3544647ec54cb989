import type { auditOperations } from '../../audit/audit-log.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { browserName } from './browser-name.ts';
import { counted, countText } from './count-text.ts';
import { facts } from './facts.ts';
import { changeTable } from './history.ts';
import { icon } from './icon.ts';
import { jsonTree } from './json-tree.ts';
import { type PathTo, sentenceParts } from './sentence.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';
import { ago, exact, zoned } from './time.ts';

const { a, code, details, div, li, span, summary, time } = tags;

export type AuditEntry = ReplyOf<(typeof auditOperations)['listAuditLogs']>[number];

/** Renders the facts about an entry that its sentence does not contain. */
export const entryFacts = (entry: AuditEntry) => {
  const { id, action, actor, resource_type, resource_id, ip, user_agent, created_at, position, request_id } = entry;
  return facts({
    Event: shortId(id, 'the event id'),
    Action: code(null, action),
    Resource: resource_id ? span(null, `${resource_type} `, shortId(resource_id)) : resource_type,
    By: actor.name ?? actor.id,
    Key: actor.key_id ? shortId(actor.key_id, 'the id of the key') : null,
    From: ip ? code(null, ip) : null,
    'User agent': user_agent,
    Request: request_id ? shortId(request_id, 'the request id') : null,
    At: exact(created_at),
    Position: code(null, position),
  });
};

/** Renders the metadata of an entry; null if it has none. */
export const entryMeta = ({ meta }: AuditEntry): Child => (Object.keys(meta).length > 0 ? jsonTree(meta) : null);

type Shown = {
  readonly isOpen: boolean;
  readonly more: readonly Child[];
  readonly pathTo?: PathTo;
  /** Whether entries of one day follow a heading with the date. Otherwise, each entry says how long ago it was. */
  readonly hasDay?: boolean;
  /** The address of the list of all entries that were joined to this one. */
  readonly runPath?: string;
};

const runNote = ({ run }: AuditEntry, path: string | undefined): Child => {
  if (run === null) return null;
  const text = [`${countText(run.count)} ×, since `, ago(run.first_at)];
  const title = `Show the ${counted(run.count, 'entry')}`;
  return span({ class: 'quiet' }, ', ', path === undefined ? text : a({ href: path, title }, text));
};

const sourceText = ({ ip, user_agent }: AuditEntry): string =>
  [ip, browserName(user_agent) ?? user_agent?.split(/[/ ]/)[0]].filter((one) => one).join(', ');

const ICONS = { user: 'user', agent: 'bot', system: 'cpu' } as const;

/** Renders an entry of an audit log as a sentence. When it is opened, it shows the changes and `more`. */
export const auditEntry = (entry: AuditEntry, { isOpen, more, pathTo, hasDay = false, runPath }: Shown) =>
  li(
    { 'data-kind': 'audit', 'data-id': entry.id, 'data-position': entry.position, id: `e-${entry.id}`, class: 'audit-entry' },
    span({ class: 'dot' }, icon(ICONS[entry.actor.kind])),
    div(
      { class: 'audit-line' },
      hasDay ? time({ datetime: entry.created_at, title: zoned(entry.created_at), class: 'quiet' }, zoned(entry.created_at, 'hour')) : null,
      div({ class: 'sentence' }, ...sentenceParts(entry, pathTo), runNote(entry, runPath)),
      div({ class: 'quiet audit-from' }, hasDay ? sourceText(entry) : [sourceText(entry), ' ', ago(entry.created_at)]),
    ),
    details({ open: isOpen }, summary({ class: 'quiet row-link' }, 'Details'), div({ class: 'entry-more' }, changeTable(entry), ...more)),
  );
