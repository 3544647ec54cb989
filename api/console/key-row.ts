import type { Rows } from '../areas.ts';
import type { ReplyOf } from '../http/ask.ts';
import { shortId } from './parts/short-id.ts';
import type { Column } from './parts/table.ts';
import { type Child, tags } from './parts/tags.ts';
import { ago } from './parts/time.ts';

const { tr, td, div, span, code } = tags;

type Key = ReplyOf<Rows['listApiKeys']>[number];

/** The columns of a table of API keys. */
export const KEY_COLUMNS: readonly Column[] = [
  ['Key'],
  ['Owner', 'wide-only'],
  ['May'],
  ['Last used', 'number'],
  ['Expires', 'number wide-only'],
  ['Created', 'number wide-only'],
  ['Actions', 'number'],
];

const mayDo = ({ read_only, role }: Key): string => [role ?? 'as its owner', ...(read_only ? ['read only'] : [])].join(', ');

/** What the audit log says about a key: for whom it acts, and the IP address from which it was last used. */
export type KeyUse = { readonly owner?: string | undefined; readonly from?: string | undefined };

/** Renders an API key as a row of a table, with the possible actions on the key at the end. */
export const keyRow = (key: Key, action: Child, { owner, from }: KeyUse = {}) =>
  tr(
    { 'data-kind': 'apikey', 'data-id': key.id },
    td({ class: 'main-cell' }, span({ class: 'event' }, key.name), div({ class: 'quiet' }, shortId(key.id, 'the id of the key'))),
    td({ class: 'wide-only' }, owner ?? span({ class: 'quiet' }, '—')),
    td(null, mayDo(key)),
    td({ class: 'number' }, ago(key.last_used_at), from ? div({ class: 'quiet' }, 'from ', code(null, from)) : null),
    td({ class: 'number wide-only' }, ago(key.expires_at)),
    td({ class: 'number wide-only' }, ago(key.created_at)),
    td({ class: 'number' }, action),
  );
