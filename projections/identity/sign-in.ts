import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import { omit } from '../../domain/omit.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

export const SignInRead = z
  .object({
    id: idOf('sign-in'),
    by: z.enum(SignIn.SIGN_IN_WAYS).meta({ description: 'How the browser signed in: at the issuer, by a one-time link, or by an API key' }),
    key_id: idOf('API key')
      .nullable()
      .meta({ description: 'The API key by which the browser signed in; null without one', examples: [null] }),
    created_at: Timestamp,
    last_seen_at: Timestamp.meta({ description: 'When the browser last made a request; updated at most once an hour' }),
    expires_at: Timestamp.meta({ description: 'When the browser must sign in again' }),
    ip: z
      .string()
      .nullable()
      .meta({ description: 'The IP address from which the browser signed in', examples: ['127.0.0.1'] }),
    user_agent: z
      .string()
      .nullable()
      .meta({ description: 'How the browser described itself when it signed in', examples: ['Mozilla/5.0 (X11; Linux x86_64)'] }),
    is_current: z.boolean().meta({ description: 'Whether this request was made with this sign-in' }),
  })
  .meta({ id: 'SignInRead' });

export const table = {
  name: 'sign_ins',
  key: ['id'],
  columns: { id: 'text', user_id: 'text', key_id: 'text', created_at: 'timestamptz', expires_at: 'timestamptz' },
  docs: { doc: SignInRead.omit({ is_current: true }) },
  indexes: [{ columns: ['user_id', 'created_at', 'id'] }],
} as const satisfies Table;

/** The sign-ins of browsers. A sign-in that has ended is removed; one that has expired stays in the table. */
export const signIns = {
  name: 'sign_ins',
  version: 1,
  categories: [SignIn.category],
  tables: [table],
  on: {
    SignedIn: (event) => {
      const { signed_in_at: created_at, ...row } = omit(SignIn.evolve(SignIn.initial, event), 'status', 'digest');
      return insert('sign_ins', { ...row, created_at, ip: event.meta.ip ?? null, user_agent: event.meta.userAgent ?? null });
    },
    SignInSeen: ({ id, at }) => patch('sign_ins', { id }, { last_seen_at: at }),
    SignedOut: ({ id }) => remove('sign_ins', { id }),
  },
} as const satisfies Projection<SignIn.SignInEvent>;
