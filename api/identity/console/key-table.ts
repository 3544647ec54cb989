import type { Rows } from '../../areas.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div, span, code } = tags;

type Key = ReplyOf<Rows['listApiKeys']>[number];

const mayDo = ({ read_only, role }: Key): string => [role ?? 'as its owner', ...(read_only ? ['read only'] : [])].join(', ');

/** What the audit log says about a key: for whom it acts, and the IP address from which it was last used. */
export type KeyUse = { readonly owner?: string | undefined; readonly from?: string | undefined };

type About = {
  readonly title: string;
  /** The actions on a key: links to forms and pages. */
  readonly menu: (key: Key) => readonly Child[];
  readonly use?: (key: Key) => KeyUse;
};

/** Renders a table of API keys. */
export const keyTable = (keys: readonly Key[], { title, menu, use }: About): Child =>
  dataTable<Key>(
    {
      ...{ title, kind: 'apikey', nameTitle: 'Key', id: ({ id }) => id, name: ({ name }) => name, menu },
      details: ({ id }) => shortId(id, 'the id of the key'),
      columns: [
        ...(use ? [{ title: 'Owner', cell: (key: Key) => use(key).owner ?? span({ class: 'quiet' }, '—') }] : []),
        { title: 'May', cell: mayDo },
        {
          ...{ title: 'Last used', look: 'number' },
          cell: (key) => {
            const from = use?.(key).from;
            return [ago(key.last_used_at), from ? div({ class: 'quiet' }, ' from ', code(null, from)) : null];
          },
        },
        { title: 'Expires', look: 'number', cell: ({ expires_at }) => ago(expires_at) },
        { title: 'Created', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
    },
    keys,
  );
