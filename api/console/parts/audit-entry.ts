import type { auditOperations } from '../../audit/audit-log.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { facts } from './facts.ts';
import type { FilterField } from './filter-form.ts';
import { changeTable } from './history.ts';
import { icon } from './icon.ts';
import { jsonTree } from './json-tree.ts';
import { shortId } from './short-id.ts';
import { type Child, tags } from './tags.ts';
import { ago, exact } from './time.ts';

const { code, details, div, li, span, summary } = tags;

type Entry = ReplyOf<(typeof auditOperations)['listAuditLogs']>[number];

/** The filters of a page that lists audit entries. */
export const AUDIT_FILTERS: readonly FilterField[] = [
  { name: 'action', label: 'Action', placeholder: 'agent.updated or agent.*' },
  { name: 'actor', label: 'Actor', placeholder: 'user, agent or part of the platform' },
  { name: 'resource_type', label: 'Kind of resource', placeholder: 'agent' },
  { name: 'resource_id', label: 'Resource', placeholder: 'its id' },
  { name: 'agent_id', label: 'Agent', placeholder: 'its id' },
  { name: 'key_id', label: 'API key', placeholder: 'its id' },
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'Until', placeholder: '2 hours ago' },
];
/** The query parameters that these filters set. */
export const AUDIT_FILTER_NAMES = [...AUDIT_FILTERS.map(({ name }) => name), 'user_id'];

/** Renders the facts about an entry that its sentence does not contain. */
export const entryFacts = ({ id, action, actor, resource_type, resource_id, ip, user_agent, created_at, position, request_id }: Entry) =>
  facts({
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

/** Renders the metadata of an entry; null if it has none. */
export const entryMeta = ({ meta }: Entry): Child => (Object.keys(meta).length > 0 ? jsonTree(meta) : null);

type Shown = { readonly isOpen: boolean; readonly more: readonly Child[] };

/** Renders an entry of an audit log as a sentence. When it is opened, it shows the changes and `more`. */
export const auditEntry = (entry: Entry, { isOpen, more }: Shown) =>
  li(
    { 'data-kind': 'audit', 'data-id': entry.id, 'data-position': entry.position, id: `e-${entry.id}` },
    span({ class: 'dot' }, icon(entry.actor.kind === 'user' ? 'user' : entry.actor.kind === 'agent' ? 'bot' : 'cpu')),
    details(
      { open: isOpen },
      summary(
        { class: 'row-link' },
        span({ class: 'sentence' }, entry.summary),
        span({ class: 'quiet' }, entry.ip ? ` from ${entry.ip}, ` : ' ', ago(entry.created_at)),
      ),
      div({ class: 'entry-more' }, changeTable(entry), ...more),
    ),
  );
